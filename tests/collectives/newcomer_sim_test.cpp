// A newcomer dies before each event while members take it in.
//
// Either all members have the new communicator, and lose it there, or none has. Then the old one
// goes on as before; if it died quietly, they may have given up one by one, and shrink that first.
// Nobody waits for the dead, but for others who may come in its place.

#include <algorithm>
#include <array>
#include <optional>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 3;
constexpr std::uint64_t kNever = UINT64_MAX;
constexpr Duration kPatience = 5s;  // With newcomers that do not come.
constexpr Duration kSilence = 4s;   // And a beat.

using Made = std::unique_ptr<Communicator>;

struct Growth {
  std::string name;
  Rank newcomers;
  bool is_elastic = false;
  bool is_quiet = false;  // Only silence tells of the death.
};

class Growing {
 public:
  explicit Growing(const Growth& growth)
      : growth_(growth),
        ranks_(kSize, 1, tweak()),
        grown_(kSize + growth.newcomers),
        made_(kSize + growth.newcomers + 1) {
    for (Rank newcomer = kSize; newcomer < grown_; ++newcomer) {
      ranks_.add_newcomer([this, newcomer] { come(newcomer); });
    }
  }
  ~Growing() {
    is_over_ = true;
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator&) {
      made_[rank].reset();
      old_[rank].reset();
    }));
  }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;

  // True if there was such an event.
  bool kill(Rank victim, std::uint64_t when) {
    const TimePoint begun = ranks_.now();
    bool has_died = false;
    EXPECT_TRUE(ranks_.run(
        [&](Rank rank, Communicator& all) {
          Result<Made> made = all.grow(grown_, kPatience);
          // Who waits for others to come in its place waits as long as it may.
          EXPECT_LE(ranks_.now() - begun, kPatience + 1s);
          if (made) {
            EXPECT_LE(ranks_.now() - begun, growth_.is_quiet ? kSilence : 1s);
            made_[rank] = *std::move(made);
          } else {
            EXPECT_EQ(made.error().code(), Code::timeout) << made.error().describe();
          }
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          has_died = true;
          ranks_.kill(victim, growth_.is_quiet);
        }));
    return has_died;
  }

  void expect_all_or_none_have_it(Rank victim) {
    for (Rank rank = 1; rank < kSize; ++rank) {
      EXPECT_EQ(made_[rank] == nullptr, made_[0] == nullptr) << rank;
    }
    // Another newcomer may have it and not the members, who hear of it then; but not the reverse.
    for (Rank rank = kSize; rank < grown_ && made_[0] != nullptr; ++rank) {
      EXPECT_TRUE(rank == victim || made_[rank] != nullptr) << rank;
    }
  }

  void expect_all_have_it() {
    for (Rank rank = 0; rank < grown_; ++rank) EXPECT_NE(made_[rank], nullptr) << rank;
  }

  // With the new one, or the old one, which then has lost nobody.
  void go_on(Rank victim) {
    const bool is_made = made_[0] != nullptr;
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) {
      if (is_made) return go_on_without(victim, *made_[rank]);
      if (growth_.is_quiet) {
        Result<Made> again = all.shrink(10s);
        ASSERT_TRUE(again) << again.error().describe();
        old_[rank] = *std::move(again);
        EXPECT_EQ(old_[rank]->size(), kSize);
      }
      const auto met = old(rank, all).barrier();
      EXPECT_TRUE(met) << met.error().describe();
    }));
    if (!is_made && growth_.newcomers == 1) take_in_another();
  }

 private:
  SimRanks::Tweak tweak() const {
    return [this](auto& options) { options.manners.elastic = growth_.is_elastic; };
  }

  Communicator& old(Rank rank, Communicator& first) {
    return old_[rank] != nullptr ? *old_[rank] : first;
  }

  void come(Rank newcomer) {
    if (is_over_) return made_[newcomer].reset();
    if (made_[newcomer] != nullptr) {
      if (made_[0] != nullptr) go_on_without(std::nullopt, *made_[newcomer]);
      return;
    }
    if (has_come_[newcomer - kSize]) return;
    has_come_[newcomer - kSize] = true;
    const TimePoint begun = ranks_.now();
    Result<Made> made = ranks_.join(newcomer, kPatience, tweak());
    EXPECT_LE(ranks_.now() - begun, kPatience + 1s);
    if (made && ranks_.is_alive(newcomer)) made_[newcomer] = *std::move(made);
  }

  void go_on_without(std::optional<Rank> victim, Communicator& all) {
    std::vector<std::int32_t> one(1, 1);
    if (growth_.is_elastic) {
      const auto done = all.all_reduce(one, one, Reduction::sum);
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(one[0], static_cast<std::int32_t>(grown_ - 1));
      EXPECT_TRUE(!victim || std::ranges::count(*done->contributors, *victim) == 0);
      return;
    }
    const auto met = all.barrier();
    ASSERT_FALSE(met);
    EXPECT_EQ(met.error().code(), Code::unavailable) << met.error().describe();
    auto left = all.shrink(10s);
    ASSERT_TRUE(left) << left.error().describe();
    EXPECT_EQ((*left)->size(), grown_ - 1);
    EXPECT_TRUE((*left)->barrier());
  }

  void take_in_another() {
    const Rank other = ranks_.size();
    Made& joined = made_.back();
    const auto work = [this, other, &joined] {
      if (is_over_) return joined.reset();
      Result<Made> made = ranks_.join(other, kPatience, [&](auto& options) {
        tweak()(options);
        options.size = kSize + 1;
      });
      ASSERT_TRUE(made) << made.error().describe();
      joined = *std::move(made);
      EXPECT_TRUE(joined->barrier());
    };
    ranks_.add_newcomer(work, kSize);
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) {
      Result<Made> made = old(rank, all).grow(kSize + 1, kPatience);
      ASSERT_TRUE(made) << made.error().describe();
      made_[rank] = *std::move(made);
      const auto met = made_[rank]->barrier();
      EXPECT_TRUE(met) << met.error().describe();
    }));
  }

  const Growth growth_;
  SimRanks ranks_;
  const Rank grown_;
  std::vector<Made> made_;
  std::array<Made, kSize> old_;  // Shrunken.
  std::array<bool, 3> has_come_{};
  bool is_over_ = false;
};

class Newcomers : public ::testing::TestWithParam<Growth> {};
INSTANTIATE_TEST_SUITE_P(
    Of, Newcomers,
    ::testing::Values(Growth{"One", 1}, Growth{"Two", 2}, Growth{"OneElastic", 1, true},
                      Growth{"TwoElastic", 2, true}, Growth{"OneQuiet", 1, false, true},
                      Growth{"TwoQuiet", 2, false, true}, Growth{"TwoElasticQuiet", 2, true, true}),
    [](const auto& one) { return one.param.name; });

TEST_P(Newcomers, WhoDieAreTakenInByAllOrByNone) {
  {
    Growing peace(GetParam());
    ASSERT_FALSE(peace.kill(kSize, kNever));
    peace.expect_all_have_it();
  }
  for (Rank victim = kSize; victim < kSize + GetParam().newcomers; ++victim) {
    for (std::uint64_t when = 0;; ++when) {
      SCOPED_TRACE("member " + std::to_string(victim) + " before event " + std::to_string(when));
      Growing growing(GetParam());
      if (!growing.kill(victim, when)) break;
      growing.expect_all_or_none_have_it(victim);
      growing.go_on(victim);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::tests
