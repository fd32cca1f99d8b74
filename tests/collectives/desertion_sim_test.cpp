// Ranks that live and can be reached, and do not come to what the others make.
//
// Nobody has a deadline but who says so: who waits for such a rank would wait for ever.

#include <optional>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kStride = 1;
constexpr std::uint64_t kSeeds = 4;
#else
constexpr std::uint64_t kStride = 5;
constexpr std::uint64_t kSeeds = 1;
#endif

void be_elastic(CommunicatorOptions& options) {
  options.manners.elastic = true;
  options.manners.deadline = Duration::max();
}

// How many meet in a part for all.
std::size_t split_and_meet(Communicator& all, bool& has_part) {
  const auto part = all.split(0, 0);
  if (!part) return 0;
  has_part = true;
  const auto met = (*part)->barrier();
  return met ? met->contributors->size() : 0;
}

// Of five, one dies, one stands still for a while, and one has no time to wait for it: it gives up
// a split that others know to be done, and only they come to the part. All try again until they
// meet. False if somebody had a part before.
bool give_up_a_split(std::uint64_t when) {
  constexpr Rank kSize = 5;
  constexpr Rank kHasty = 2;
  constexpr Rank kStopped = 3;
  constexpr Rank kVictim = 4;
  SimRanks ranks(kSize, 1, [](CommunicatorOptions& options) {
    be_elastic(options);
    options.silence = 1h;
    if (options.rank == kHasty) options.manners.deadline = 1s;
    if (options.rank == kVictim) options.manners.deadline = 20s;  // It has to end, too.
  });
  TimePoint goes_on = kForever;
  bool has_died = false;
  bool has_part = false;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        std::size_t met = 0;
        for (int attempt = 0; met < kSize - 1 && attempt < 10; ++attempt) {
          met = split_and_meet(all, has_part);
        }
        if (ranks.is_alive(rank)) {
          EXPECT_EQ(met, has_died ? kSize - 1 : kSize);
        }
      },
      [&](std::uint64_t event) {
        if (event == when && !has_part) {
          has_died = true;
          ranks.kill(kVictim);
          ranks.stop(kStopped);
          goes_on = ranks.now() + 3s;
        }
        if (ranks.now() < goes_on) return;
        ranks.let_go_on(kStopped);
        goes_on = kForever;
      }));
  return has_died;
}

TEST(Deserters, FromASplitThatAllHadAgreedOnAreNotWaitedFor) {
  for (std::uint64_t when = 0;; ++when) {
    SCOPED_TRACE(when);
    if (!give_up_a_split(when) || ::testing::Test::HasFailure()) return;
  }
}

using Made = std::unique_ptr<Communicator>;
using Making = std::function<Result<Made>(Communicator&)>;

// One stands still for a while, and one has no time to wait for it: it may give up what the others
// have. Who has it uses it, and then all go on together. False if there was no such event.
bool give_up_a_making(const Making& making, bool is_elastic, std::uint64_t when) {
  constexpr Rank kSize = 5;
  constexpr Rank kHasty = 2;
  constexpr Rank kStopped = 4;
  SimRanks ranks(kSize, 1, [&](CommunicatorOptions& options) {
    be_elastic(options);
    options.manners.elastic = is_elastic;
    options.silence = 1min;
    if (options.rank == kHasty) options.manners.deadline = 1s;
  });
  std::vector<Made> made(kSize);
  TimePoint goes_on = kForever;
  bool has_stopped = false;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        if (Result<Made> one = making(all)) made[rank] = *std::move(one);
      },
      [&](std::uint64_t event) {
        if (event == when) {
          has_stopped = true;
          ranks.stop(kStopped);
          goes_on = ranks.now() + 3s;
        }
        if (ranks.now() < goes_on) return;
        ranks.let_go_on(kStopped);
        goes_on = kForever;
      }));
  if (goes_on != kForever) ranks.let_go_on(kStopped);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator&) {
    if (made[rank] == nullptr) return;
    std::vector<std::int32_t> one(1, 1);
    const auto done = made[rank]->all_reduce(one, one, Reduction::sum);
    const Rank whole = made[rank]->size();
    EXPECT_TRUE(!done || one[0] == static_cast<std::int32_t>(
                                       done->contributors ? done->contributors->size() : whole));
    made[rank].reset();
  }));
  EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
    Result<Made> again = all.shrink();
    for (int tries = 0; !again && tries < 10; ++tries) again = all.shrink();
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ((*again)->size(), kSize);
    EXPECT_TRUE((*again)->barrier());
  }));
  return has_stopped;
}

TEST(Deserters, ByTheirOwnDeadlineAreNotWaitedForInWhatTheOthersHave) {
  const Making split = [](Communicator& all) {
    return all.split(static_cast<int>(all.rank() % 2), -static_cast<int>(all.rank()));
  };
  const Making twin = [](Communicator& all) { return all.dup(); };
  for (const bool is_elastic : {false, true}) {
    for (const Making& making : {split, twin}) {
      for (std::uint64_t when = 0;; ++when) {
        SCOPED_TRACE(when);
        if (!give_up_a_making(making, is_elastic, when)) break;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// It was in no call when a death was agreed upon, and counts among those who are left. Its links
// stay, as there is another communicator.
TEST(Deserters, WhoCloseTheirEndBeforeTheyHearWhoIsLeftAreNotWaitedFor) {
  SimRanks ranks(3, 1, be_elastic);
  std::vector<std::unique_ptr<Communicator>> twins(3);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    twins[rank] = *all.dup();
    EXPECT_TRUE(twins[rank]->barrier());
  }));
  ranks.kill(2);
  const TimePoint killed = ranks.now();
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator&) {
        if (rank != 0) return;
        std::vector<std::int32_t> one(1, 1);
        const auto done = twins[0]->all_reduce(one, one, Reduction::sum);
        ASSERT_TRUE(done) << done.error().describe();
        EXPECT_EQ(*done->contributors, std::vector<Rank>{0});
      },
      [&](std::uint64_t) {
        if (ranks.now() > killed + 1s) twins[1].reset();
      }));
}

TEST(Deserters, WhoCloseTheirEndInsteadOfShrinkingAgainAreNotWaitedFor) {
  SimRanks ranks(3, 1, [](auto& options) { options.manners.deadline = Duration::max(); });
  std::vector<std::unique_ptr<Communicator>> twins(3);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) { twins[rank] = *all.dup(); }));
  ranks.kill(2);
  const TimePoint killed = ranks.now();
  // All agree by the time that rank 1 closes its end, though rank 0 had not come when it gave up.
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator&) {
    if (rank == 1) {
      EXPECT_FALSE(twins[1]->shrink(100ms));
    }
  }));
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator&) {
        if (rank != 0) return;
        auto left = twins[0]->shrink();
        ASSERT_TRUE(left) << left.error().describe();
        const auto met = (*left)->barrier();
        ASSERT_FALSE(met);
        EXPECT_NE(met.error().message().find("rank 1"), std::string::npos)
            << met.error().describe();
        EXPECT_TRUE((*left)->shrink());
      },
      [&](std::uint64_t) {
        if (ranks.now() > killed + 1s) twins[1].reset();
      }));
}

// The link between two breaks while all of them split. One of the two is left out, and hears it
// over the links that it has. It may be the only one that never had what all were to have: then it
// does not even know of the part.
TEST(Deserters, WhoWereLeftOutOfASplitAreLostToTheirPart) {
  constexpr Rank kSize = 5;
  for (const Rank lower : {0U, 1U, 2U, 3U}) {
    bool is_over = false;
    for (std::uint64_t when = 0; !is_over; ++when) {
      SCOPED_TRACE("ranks " + std::to_string(lower) + " and 4 part before event " +
                   std::to_string(when));
      SimRanks ranks(kSize, 1, be_elastic);
      is_over = true;
      EXPECT_TRUE(ranks.run(
          [&](Rank rank, Communicator& all) {
            const auto part = all.split(0, -static_cast<int>(rank));  // Rank 4 is the first there.
            const bool may_fail = rank == lower || rank == kSize - 1;
            if (may_fail && !part) return;
            ASSERT_TRUE(part) << part.error().describe();
            std::vector<std::int32_t> one(1, 1);
            const auto done = (*part)->all_reduce(one, one, Reduction::sum);
            if (may_fail && !done) return;
            ASSERT_TRUE(done) << done.error().describe();
            EXPECT_EQ(one[0], static_cast<std::int32_t>(done->contributors->size()));
          },
          [&](std::uint64_t event) {
            if (event != when) return;
            is_over = false;
            ranks.net().break_connections(ranks.host(lower), ranks.host(kSize - 1));
          }));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// The same, and what rank 4 says to one of the others comes late: of those who make the part some
// have heard that it is in it when they know that it was left out, and some have not.
bool come_late(std::uint64_t seed, Rank lower, Rank deaf, std::uint64_t when) {
  constexpr Rank kSize = 5;
  constexpr Rank kLate = kSize - 1;
  constexpr int kSteps = 3;
  SimRanks ranks(kSize, seed, be_elastic);
  std::vector<Made> parts(kSize);
  std::vector<std::vector<std::int32_t>> sums(kSize);
  bool has_broken = false;
  TimePoint heals = kForever;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        auto part = all.split(0, -static_cast<int>(rank));
        const bool may_fail = rank == lower || rank == kLate;
        if (may_fail && !part) return;
        ASSERT_TRUE(part) << part.error().describe();
        parts[rank] = *std::move(part);  // It is not closed, as that would be heard.
        for (int step = 0; step < kSteps; ++step) {
          std::vector<std::int32_t> mine(1, 1 << rank);
          const auto done = parts[rank]->all_reduce(mine, mine, Reduction::sum);
          if (may_fail && !done) return;
          ASSERT_TRUE(done) << "rank " << rank << " step " << step << ": "
                            << done.error().describe();
          std::int32_t sum = 0;
          for (const Rank one : *done->contributors) {
            sum += 1 << (parts[rank]->member(one)[5] - '0');  // Called rank_N_ID.
          }
          EXPECT_EQ(mine[0], sum);
          sums[rank].push_back(sum);
        }
      },
      [&](std::uint64_t event) {
        if (event == when) {
          has_broken = true;
          ranks.net().break_connections(ranks.host(lower), ranks.host(kLate));
          heals = ranks.now() + 1s;
          ranks.net().part(ranks.host(deaf), ranks.host(kLate));
        }
        if (ranks.now() < heals) return;
        ranks.net().join(ranks.host(deaf), ranks.host(kLate));
        heals = kForever;
      }));
  for (int step = 0; step < kSteps; ++step) {
    std::optional<std::int32_t> known;
    for (const auto& of_rank : sums) {
      if (of_rank.size() <= static_cast<std::size_t>(step)) continue;
      if (!known) known = of_rank[step];
      EXPECT_EQ(of_rank[step], *known) << "step " << step;
    }
  }
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator&) { parts[rank].reset(); }));
  return has_broken;
}

TEST(Deserters, WhoWereLeftOutOfASplitAndComeLateAreCountedInByAllOrByNone) {
  for (std::uint64_t seed = 2; seed < 2 + kSeeds; ++seed) {
    for (const Rank lower : {0U, 1U, 2U, 3U}) {
      for (const Rank deaf : {0U, 1U, 2U, 3U}) {
        bool is_over = deaf == lower;
        for (std::uint64_t when = (lower + deaf) % kStride; !is_over; when += kStride) {
          SCOPED_TRACE("seed " + std::to_string(seed) + ": ranks " + std::to_string(lower) +
                       " and 4 part before event " + std::to_string(when) + ", and rank " +
                       std::to_string(deaf) + " hears nothing of 4 for a while");
          is_over = !come_late(seed, lower, deaf, when);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::tests
