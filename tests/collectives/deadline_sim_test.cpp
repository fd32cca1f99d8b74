// Nobody waits past a deadline, whatever it is that the others do not come to.
//
// One rank is cut off, but not for so long that its links are given up: all
// calls have to end by the communicator's deadline, and name it.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 3;
constexpr Rank kAbsent = 2;
constexpr Duration kDeadline = 5s;

void be_patient(CommunicatorOptions& options) {
  options.manners.deadline = kDeadline;
  options.silence = 1h;
}

struct Deed {
  std::string name;
  std::function<Status(Communicator&)> call;
  bool is_elastic = false;
  // Memory that was lent to the absent one is taken back, and its link cut.
  bool is_lost_by_it = false;
};

template <class T>
Status status_of(const Result<T>& result) {
  return result ? ok() : Status(result.error());
}

std::vector<Deed> deeds() {
  const auto sum = [](Communicator& all) {
    std::vector<float> ones(5000, 1.0F);
    return status_of(all.all_reduce(ones, ones, Reduction::sum));
  };
  return {
      {"Barrier", [](Communicator& all) { return status_of(all.barrier()); }},
      {"Sum", sum, false, true},
      {"ElasticSum", sum, true, true},
      {"Share", [](Communicator& all) { return status_of(all.all_share(Buffer::copy_of("x"))); }},
      {"Split",
       [](Communicator& all) {
         return status_of(all.split(all.rank() == 1 ? 1 : 0, -static_cast<int>(all.rank())));
       }},
      {"Dup", [](Communicator& all) { return status_of(all.dup()); }},
      {"Shrink", [](Communicator& all) { return status_of(all.shrink()); }},
      {"Grow", [](Communicator& all) { return status_of(all.grow(kSize + 1)); }},
      {"Receive",
       [](Communicator& all) {
         std::vector<float> one(1);
         return all.rank() == kAbsent ? ok() : all.receive(one, kAbsent);
       }},
      {"Send",
       [](Communicator& all) -> Status {
         // Twice as much is more than may be under way.
         const std::vector<float> many(std::size_t{5} << 18);
         if (all.rank() == kAbsent) return ok();
         MUSTER_TRY_OK(all.send(many, kAbsent));
         return all.send(many, kAbsent);
       }},
  };
}

bool names_absent(const Error& error) {
  const std::string text = error.describe();
  return text.find("rank 2") != std::string::npos || text.find("rank_2") != std::string::npos;
}

// Who was waited for, and may have waited for the absent one itself.
bool names_other(const Error& error, Rank self) {
  const std::string other = std::to_string(1 - self);
  const std::string text = error.describe();
  return text.find("rank " + other + " did not go on") != std::string::npos ||
         text.find("rank_" + other) != std::string::npos;
}

class Deadlines : public ::testing::TestWithParam<Deed> {};
INSTANTIATE_TEST_SUITE_P(Of, Deadlines, ::testing::ValuesIn(deeds()),
                         [](const auto& one) { return one.param.name; });

// Afterwards all of them can go on together.
void expect_recovery(SimRanks& ranks, bool is_lost) {
  ranks.let_go_on(kAbsent);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    auto again = all.shrink(1min);
    EXPECT_EQ(again.has_value(), rank != kAbsent || !is_lost);
    if (!again) return;
    EXPECT_EQ((*again)->size(), is_lost ? kSize - 1 : kSize);
    const auto met = (*again)->barrier();
    EXPECT_TRUE(met) << met.error().describe();
  }));
}

TEST_P(Deadlines, EndTheCallOnEveryRankAndNameWhoIsAbsent) {
  SimRanks ranks(kSize, 1, [&](CommunicatorOptions& options) {
    be_patient(options);
    options.manners.elastic = GetParam().is_elastic;
  });
  ranks.stop(kAbsent);
  const TimePoint begun = ranks.now();
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    const Status done = GetParam().call(all);
    EXPECT_LE(ranks.now() - begun, 2 * kDeadline);
    if (rank == kAbsent) return;
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::timeout) << done.error().describe();
    const bool waits_for_newcomers = GetParam().name == "Grow";
    EXPECT_TRUE(names_absent(done.error()) || waits_for_newcomers) << done.error().describe();
    EXPECT_TRUE(all.waiting_for().empty());
  }));
  if (!GetParam().is_elastic) expect_recovery(ranks, GetParam().is_lost_by_it);
}

// It is cut off before each event of the call, when parts of it are done.
TEST_P(Deadlines, EndTheCallWheneverSomebodyStops) {
  for (std::uint64_t when = 0, is_over = 0; is_over == 0 && when < 400; ++when) {
    SCOPED_TRACE(when);
    SimRanks ranks(kSize, when, [&](CommunicatorOptions& options) {
      be_patient(options);
      options.manners.elastic = GetParam().is_elastic;
    });
    bool has_stopped = false;
    const TimePoint begun = ranks.now();
    EXPECT_TRUE(ranks.run(
        [&](Rank rank, Communicator& all) {
          const Status done = GetParam().call(all);
          EXPECT_LE(ranks.now() - begun, 4 * kDeadline);
          const bool waits_for_newcomers = GetParam().name == "Grow";
          if (done || rank == kAbsent || waits_for_newcomers) return;
          EXPECT_TRUE(names_absent(done.error()) || names_other(done.error(), rank))
              << done.error().describe();
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          has_stopped = true;
          ranks.stop(kAbsent);
        }));
    if (!has_stopped) is_over = 1;
    if (HasFailure()) return;
  }
}

// One that was too late to know that all have the result must not make the others, who have
// returned it, do it again.
TEST(ElasticDeadlines, WhatOneHasReturnedIsCompletedForAll) {
  for (std::uint64_t when = 0, is_over = 0; is_over == 0 && when < 400; ++when) {
    SCOPED_TRACE(when);
    SimRanks ranks(kSize, 1, [](CommunicatorOptions& options) {
      be_patient(options);
      options.manners.elastic = true;
    });
    std::vector<bool> has_result(kSize);
    bool has_stopped = false;
    EXPECT_TRUE(ranks.run(
        [&](Rank rank, Communicator& all) {
          std::vector<float> ones(3, 1.0F);
          has_result[rank] = all.all_reduce(ones, ones, Reduction::sum).has_value();
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          has_stopped = true;
          ranks.stop(kAbsent);
        }));
    ranks.let_go_on(kAbsent);
    const bool is_known = std::ranges::count(has_result, true) > 0;
    EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
      auto again = all.shrink(1min);
      if (again && is_known) {
        EXPECT_EQ((*again)->completed_before(), 1U);
      }
    }));
    if (!has_stopped) is_over = 1;
    if (::testing::Test::HasFailure()) return;
  }
}

// Those who are ready wait for one who has not come to the new communicator.
TEST(Stuck, WhoHasNotComeToAgreeIsNamedMeanwhile) {
  SimRanks ranks(kSize, 1, be_patient);
  const TimePoint begun = ranks.now();
  std::vector<Rank> seen;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        if (rank != kAbsent) {
          EXPECT_FALSE(all.shrink());
        }
      },
      [&](std::uint64_t) {
        if (seen.empty() && ranks.now() > begun + 1s) seen = ranks[0].waiting_for();
      }));
  EXPECT_EQ(seen, std::vector<Rank>{kAbsent});
  EXPECT_TRUE(ranks[0].waiting_for().empty());
}

TEST(Stuck, AShrinkThatWasLateIsTakenUpAgain) {
  SimRanks ranks(kSize, 1, be_patient);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    if (rank == kAbsent) return;
    const auto late = all.shrink(1s);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Code::timeout) << late.error().describe();
  }));
  EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
    auto again = all.shrink();
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ((*again)->size(), kSize);
    EXPECT_TRUE((*again)->barrier());
  }));
}

// Rank 0 is gone with its host. Whether it lives, and decides otherwise, cannot be known.
TEST(TooFew, EndWithoutADeadlineToo) {
  for (const bool is_elastic : {false, true}) {
    SimRanks ranks(2, 1, [&](CommunicatorOptions& options) {
      options.manners.deadline = Duration::max();
      options.manners.elastic = is_elastic;
    });
    ranks.kill(0, true);
    const TimePoint begun = ranks.now();
    EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
      std::vector<float> ones(10, 1.0F);
      const auto summed = all.all_reduce(ones, ones, Reduction::sum);
      ASSERT_FALSE(summed);
      EXPECT_EQ(summed.error().code(), Code::unavailable) << summed.error().describe();
      const auto shrunk = all.shrink();
      ASSERT_FALSE(shrunk);
      EXPECT_EQ(shrunk.error().code(), Code::unavailable) << shrunk.error().describe();
    }));
    EXPECT_LT(ranks.now() - begun, 15s);
  }
}

// What is said once is said, however much waits for a rank that stands still.
TEST(AFullLink, LosesNoGoodbye) {
  constexpr std::size_t kTwins = 12;  // Of each 8 MiB may be under way.
  // The last one fills what room is left.
  const auto size_for = [](std::size_t twin) { return twin + 1 == kTwins ? 0U : 32U << 10; };
  SimRanks ranks(2, 1, [](CommunicatorOptions& options) { options.silence = 1h; });
  std::vector<std::unique_ptr<Communicator>> twins[2];
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    for (std::size_t i = 0; i < kTwins; ++i) twins[rank].push_back(*all.dup());
  }));
  ranks.stop(1);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator&) {
    if (rank == 1) return;
    for (std::size_t i = 0; i < kTwins; ++i) {
      const std::vector<std::uint8_t> some(size_for(i));
      while (twins[0][i]->send(some, 1, 0, 1ms)) continue;
    }
    twins[0].clear();
  }));
  ranks.let_go_on(1);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator&) {
    if (rank == 0) return;
    for (std::size_t i = 0; i < kTwins; ++i) {
      std::vector<std::uint8_t> came(size_for(i));
      Status received = ok();
      while (received) received = twins[1][i]->receive(came, 0);
      EXPECT_EQ(received.error().code(), Code::unavailable) << received.error().describe();
    }
  }));
}

}  // namespace
}  // namespace muster::tests
