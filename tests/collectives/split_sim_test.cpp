// Two communicators of the same ranks are split at once, by two threads of each rank, and one rank
// dies before each event of it.
//
// Everybody ends, soon; of a part all who are left have it or none; and all go on together.

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 5;
constexpr std::uint64_t kNever = UINT64_MAX;

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kStep = 1;
#else
constexpr std::uint64_t kStep = 3;
#endif

using Made = std::unique_ptr<Communicator>;

// Of the first: 0 2 4 and 1 3; of the second: 0 1 and 2 3 4, the other way round.
int colour(bool is_first, Rank rank) { return static_cast<int>(is_first ? rank % 2 : rank / 2); }
int key(bool is_first, Rank rank) { return is_first ? 0 : -static_cast<int>(rank); }

class Splits {
 public:
  explicit Splits(bool is_elastic)
      : is_elastic_(is_elastic),
        ranks_(kSize, 1, [&](auto& options) { options.manners.elastic = is_elastic; }),
        twins_(kSize) {
    for (auto& parts : parts_) parts.resize(kSize);
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) { twins_[rank] = *all.dup(); }));
  }
  ~Splits() {
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator&) {
      for (auto& parts : parts_) parts[rank].reset();
      twins_[rank].reset();
    }));
  }
  Splits(const Splits&) = delete;
  Splits& operator=(const Splits&) = delete;

  // True if there was such an event.
  bool kill(Rank victim, std::uint64_t when) {
    EXPECT_TRUE(
        ranks_.run_both([&](Rank rank, Communicator& all) { split(all, true, rank); },
                        [&](Rank rank, Communicator&) { split(*twins_[rank], false, rank); },
                        [&](std::uint64_t event) {
                          if (event != when) return;
                          killed_ = ranks_.now();
                          ranks_.kill(victim);
                        }));
    return killed_ != TimePoint{};
  }

  void expect_all_or_none_have_a_part() {
    for (const bool is_first : {true, false}) {
      const std::vector<Made>& parts = parts_[is_first ? 0 : 1];
      for (Rank rank = 0; rank < kSize; ++rank) {
        for (Rank other = 0; other < rank; ++other) {
          if (!ranks_.is_alive(rank) || !ranks_.is_alive(other)) continue;
          if (colour(is_first, rank) != colour(is_first, other)) continue;
          EXPECT_EQ(parts[rank] == nullptr, parts[other] == nullptr)
              << "ranks " << rank << " and " << other << (is_first ? " of the first" : "");
        }
      }
    }
  }

  void go_on() {
    EXPECT_TRUE(
        ranks_.run_both([&](Rank rank, Communicator& all) { use(all, true, rank); },
                        [&](Rank rank, Communicator&) { use(*twins_[rank], false, rank); }));
  }

 private:
  void split(Communicator& all, bool is_first, Rank rank) {
    Result<Made> part = all.split(colour(is_first, rank), key(is_first, rank));
    if (!ranks_.is_alive(rank)) return;
    if (killed_ != TimePoint{}) {
      EXPECT_LE(ranks_.now() - killed_, 2s);
    }
    EXPECT_TRUE(part || (!is_elastic_ && part.error().code() == Code::unavailable))
        << part.error().describe();
    if (part) parts_[is_first ? 0 : 1][rank] = *std::move(part);
  }

  // First the part, then what it is of.
  void use(Communicator& all, bool is_first, Rank rank) {
    if (const Made& part = parts_[is_first ? 0 : 1][rank]) {
      std::vector<std::int32_t> one(1, 1);
      const auto done = part->all_reduce(one, one, Reduction::sum);
      const std::size_t whole =
          done && done->contributors ? done->contributors->size() : part->size();
      EXPECT_TRUE(!done || one[0] == static_cast<std::int32_t>(whole));
      EXPECT_TRUE(done || done.error().code() == Code::unavailable) << done.error().describe();
    }
    if (is_elastic_) {
      const auto done = all.barrier();
      ASSERT_TRUE(done) << done.error().describe();
    } else {
      auto left = all.shrink(10s);
      ASSERT_TRUE(left) << left.error().describe();
      EXPECT_TRUE((*left)->barrier());
    }
  }

  const bool is_elastic_;
  SimRanks ranks_;
  std::vector<Made> twins_;
  std::vector<Made> parts_[2];
  TimePoint killed_{};
};

class TwoSplits : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Of, TwoSplits, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Elastic" : "Strict"; });

TEST_P(TwoSplits, EndAlikeOnAllWhoAreLeftWheneverARankDies) {
  {
    Splits peace(GetParam());
    ASSERT_FALSE(peace.kill(0, kNever));
    peace.go_on();
  }
  for (Rank victim = 0; victim < kSize; ++victim) {
    for (std::uint64_t when = victim % kStep;; when += kStep) {
      SCOPED_TRACE("rank " + std::to_string(victim) + " before event " + std::to_string(when));
      Splits splits(GetParam());
      if (!splits.kill(victim, when)) break;
      splits.expect_all_or_none_have_a_part();
      splits.go_on();
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::tests
