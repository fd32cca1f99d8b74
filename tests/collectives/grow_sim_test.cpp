// A member dies before each event while others take in a newcomer, or make a twin.
//
// Either all who are left have the new communicator, and shrink that, or none of them has, and
// they shrink the old one. Nobody waits for a deadline to know.

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 3;
constexpr std::uint64_t kNever = UINT64_MAX;
constexpr std::uint64_t kSeeds = 4;  // Who hears of what first comes from it.

using Made = std::unique_ptr<Communicator>;
using Making = std::function<Result<Made>(Communicator&)>;

class Run {
 public:
  Run(Making making, bool has_newcomer, std::uint64_t seed = 1)
      : making_(std::move(making)), ranks_(kSize, seed), made_(kSize + 1) {
    if (has_newcomer) ranks_.add_newcomer([this] { come(); });
  }

  // True if there was such an event.
  bool kill(Rank victim, std::uint64_t when) {
    EXPECT_TRUE(ranks_.run(
        [&](Rank rank, Communicator& all) {
          Result<Made> made = making_(all);
          if (!ranks_.is_alive(rank)) return;
          expect_soon();
          if (made) made_[rank] = *std::move(made);
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          killed_ = ranks_.now();
          ranks_.kill(victim);
        }));
    return killed_ != TimePoint{};
  }

  void expect_all_have_it() {
    for (Rank rank = 0; rank < ranks_.size(); ++rank) EXPECT_NE(made_[rank], nullptr) << rank;
  }

  void go_on_without(Rank victim) {
    const Rank other = victim == 0 ? 1 : 0;
    for (Rank rank = 0; rank < kSize; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(made_[rank] == nullptr, made_[other] == nullptr) << rank;
    }
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) {
      shrink(made_[rank] != nullptr ? *made_[rank] : all);
    }));
  }

 private:
  void expect_soon() const {
    if (killed_ == TimePoint{}) return;
    EXPECT_LE(ranks_.now() - killed_, 2s);
  }

  // Once it has joined, it does as the others do.
  void come() {
    if (made_.back() != nullptr) return shrink(*made_.back());
    if (has_come_) return;
    has_come_ = true;
    Result<Made> made = ranks_.join(5s);
    if (made) made_.back() = *std::move(made);
  }

  // A newcomer may be alone in what those who took it in have left.
  void shrink(Communicator& left) {
    EXPECT_FALSE(left.barrier());
    auto again = left.shrink(10s);
    if (&left == made_.back().get() && !again) return;
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_TRUE((*again)->barrier());
  }

  Making making_;
  SimRanks ranks_;
  std::vector<Made> made_;
  TimePoint killed_{};
  bool has_come_ = false;
};

void kill_at_each_event(const Making& making, bool has_newcomer) {
  Run peace(making, has_newcomer);
  ASSERT_FALSE(peace.kill(0, kNever));
  peace.expect_all_have_it();
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (Rank victim = 0; victim < kSize; ++victim) {
      for (std::uint64_t when = 0;; ++when) {
        SCOPED_TRACE("rank " + std::to_string(victim) + " before event " + std::to_string(when) +
                     " with seed " + std::to_string(seed));
        Run run(making, has_newcomer, seed);
        if (!run.kill(victim, when)) break;
        run.go_on_without(victim);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Growing, EndsAlikeOnAllWhoAreLeftWheneverAMemberDies) {
  kill_at_each_event([](Communicator& all) { return all.grow(kSize + 1); }, true);
}

// The newcomer cannot be reached by one of them, who has less patience than the others.
TEST(Growing, IsGivenUpByAllWhenOneGivesItUp) {
  SimRanks ranks(kSize, 1);
  ranks.add_newcomer([&] { EXPECT_FALSE(ranks.join(2min)); });
  ranks.net().part(ranks.host(kSize - 1), ranks.host(kSize));
  const TimePoint begun = ranks.now();
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    const auto grown = all.grow(kSize + 1, rank == kSize - 1 ? 5s : 60s);
    ASSERT_FALSE(grown);
    EXPECT_LE(ranks.now() - begun, 8s) << grown.error().describe();
    EXPECT_EQ(grown.error().code(), Code::timeout) << grown.error().describe();
    EXPECT_NE(grown.error().message().find("rank 2 has not met rank 3"), std::string::npos)
        << grown.error().describe();
    auto again = all.shrink(30s);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ((*again)->size(), kSize);
    EXPECT_TRUE((*again)->barrier());
  }));
}

// The newcomer is cut off at each moment, and rank 0 has less patience than the others.
TEST(Growing, IsGivenUpByAllWheneverTheNewcomerStops) {
  bool is_over = false;
  for (std::uint64_t when = 0; !is_over; ++when) {
    SCOPED_TRACE(when);
    SimRanks ranks(kSize, 1, [](CommunicatorOptions& options) {
      options.silence = 1h;
      options.manners.deadline = 2min;
    });
    ranks.add_newcomer([&] { static_cast<void>(ranks.join(5s)); });
    is_over = true;
    const TimePoint begun = ranks.now();
    bool is_made_by_0 = false;  // Then the others wait for the newcomer as long as they may.
    TimePoint last = begun;
    EXPECT_TRUE(ranks.run(
        [&](Rank rank, Communicator& all) {
          const bool is_made = all.grow(kSize + 1, rank == 0 ? 5s : 60s).has_value();
          if (rank == 0) is_made_by_0 = is_made;
          last = std::max(last, ranks.now());
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          is_over = false;
          ranks.stop(kSize);
        }));
    EXPECT_TRUE(is_made_by_0 || last - begun <= 10s) << (last - begun).count();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ATwin, IsHadByAllWhoAreLeftOrByNoneWheneverAMemberDies) {
  kill_at_each_event([](Communicator& all) { return all.dup(); }, false);
}

// Some have recovered from the death, for others that was done while they were in no call.
TEST(ElasticTwins, AreMadeRightAfterAnOperationInWhichSomebodyDied) {
  constexpr Rank kFour = 4;
  for (Rank victim = 0; victim < kFour; ++victim) {
    bool is_over = false;
    for (std::uint64_t when = 0; !is_over; ++when) {
      SCOPED_TRACE("rank " + std::to_string(victim) + " before event " + std::to_string(when));
      SimRanks ranks(kFour, 1, [](CommunicatorOptions& options) {
        options.manners.elastic = true;
        options.manners.deadline = 30s;
      });
      is_over = true;
      EXPECT_TRUE(ranks.run(
          [&](Rank rank, Communicator& all) {
            std::vector<float> ones(3, 1.0F);
            const auto summed = all.all_reduce(ones, ones, Reduction::sum);
            EXPECT_TRUE(summed || !ranks.is_alive(rank)) << summed.error().describe();
          },
          [&](std::uint64_t event) {
            if (event != when) return;
            is_over = false;
            ranks.kill(victim);
          }));
      const TimePoint begun = ranks.now();
      EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
        auto twin = all.dup();
        EXPECT_LE(ranks.now() - begun, 5s);
        ASSERT_TRUE(twin) << twin.error().describe();
        const auto met = (*twin)->barrier();
        EXPECT_TRUE(met) << met.error().describe();
      }));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Some have counted the twin that a death spoiled, and others not. They go on together.
TEST(ElasticTwins, AreMadeAgainAfterADeathThatOnlySomeHadNoticed) {
  constexpr Rank kFour = 4;
  const auto tweak = [](CommunicatorOptions& options) {
    options.manners.elastic = true;
    options.manners.deadline = 30s;
  };
  for (Rank victim = 0; victim < kFour; ++victim) {
    bool is_over = false;
    for (std::uint64_t when = 0; !is_over; ++when) {
      SCOPED_TRACE("rank " + std::to_string(victim) + " before event " + std::to_string(when));
      SimRanks ranks(kFour, 1, tweak);
      is_over = true;
      EXPECT_TRUE(ranks.run([](Rank, Communicator& all) { static_cast<void>(all.dup()); },
                            [&](std::uint64_t event) {
                              if (event != when) return;
                              is_over = false;
                              ranks.kill(victim);
                            }));
      EXPECT_TRUE(ranks.run([](Rank, Communicator& all) {
        std::vector<float> ones(3, 1.0F);
        const auto summed = all.all_reduce(ones, ones, Reduction::sum);
        ASSERT_TRUE(summed) << summed.error().describe();
        auto twin = all.dup();
        ASSERT_TRUE(twin) << twin.error().describe();
        EXPECT_TRUE((*twin)->all_reduce(ones, ones, Reduction::sum));
      }));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::tests
