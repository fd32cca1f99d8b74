// grow() where the registry never tells one of those who are to meet of another, though both live.
//
// Others have met both, and bring them together. Where all live nobody has a deadline to speak of:
// who is waited for in vain is waited for as long as the run lasts.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/discreet.h"
#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 3;
constexpr Rank kGrown = 5;
constexpr Duration kForGood = 30min;

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kStep = 1;
#else
constexpr std::uint64_t kStep = 31;
#endif

using Made = std::unique_ptr<Communicator>;

// Who never hears of whom, in either order.
struct Silence {
  Rank deaf;
  Rank unheard;
  bool is_mutual;
  bool are_newcomers_first;  // The lower id is the one that dials.
};

class Strangers {
 public:
  Strangers(bool is_elastic, const Silence& silence)
      : is_elastic_(is_elastic),
        silence_(silence),
        ranks_(kSize, 1, [this](CommunicatorOptions& options) { tell_less(options); }),
        made_(kGrown) {
    for (Rank newcomer = kSize; newcomer < kGrown; ++newcomer) {
      ranks_.add_newcomer([this, newcomer] { come(newcomer); });
    }
  }
  ~Strangers() {
    is_over_ = true;
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator&) { made_[rank].reset(); }));
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  void expect_that_all_meet() {
    const TimePoint begun = ranks_.now();
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) {
      Result<Made> made = all.grow(kGrown);
      EXPECT_LE(ranks_.now() - begun, 1s) << "rank " << rank;
      ASSERT_TRUE(made) << made.error().describe();
      made_[rank] = *std::move(made);
      expect_sum(*made_[rank]);
    }));
    for (Rank rank = 0; rank < kGrown; ++rank) EXPECT_NE(made_[rank], nullptr) << rank;
  }

  // One dies, and nobody waits for more than three seconds. True if there was such an event.
  bool kill(Rank victim, std::uint64_t when) {
    wait_ = 3s;
    const TimePoint begun = ranks_.now();
    bool has_died = false;
    EXPECT_TRUE(ranks_.run(
        [&](Rank rank, Communicator& all) {
          Result<Made> made = all.grow(kGrown, wait_);
          if (!ranks_.is_alive(rank)) return;
          EXPECT_LE(ranks_.now() - begun, 5s) << "rank " << rank;
          if (made) made_[rank] = *std::move(made);
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          has_died = true;
          ranks_.kill(victim);
        }));
    return has_died;
  }

  void expect_that_members_have_it_all_or_none(Rank victim) {
    const Rank other = victim == 0 ? 1 : 0;
    for (Rank rank = 0; rank < kSize; ++rank) {
      EXPECT_TRUE(rank == victim || (made_[rank] == nullptr) == (made_[other] == nullptr)) << rank;
    }
  }

 private:
  Id id(Rank rank) const {
    return {rank >= kSize && silence_.are_newcomers_first ? 1U : 2U, rank + 1};
  }

  void tell_less(CommunicatorOptions& options) {
    options.id = id(options.rank);
    options.manners.elastic = is_elastic_;
    options.manners.deadline = kForGood;
    std::vector<Id> unheard;
    if (options.rank == silence_.deaf) unheard.push_back(id(silence_.unheard));
    if (options.rank == silence_.unheard && silence_.is_mutual) {
      unheard.push_back(id(silence_.deaf));
    }
    registries_.push_back(std::make_unique<Discreet>(*options.registry, std::move(unheard)));
    options.registry = registries_.back().get();
  }

  void come(Rank newcomer) {
    if (is_over_) return made_[newcomer].reset();
    Result<Made> made =
        ranks_.join(newcomer, wait_, [this](CommunicatorOptions& options) { tell_less(options); });
    if (wait_ != kForGood) {
      if (made && ranks_.is_alive(newcomer)) made_[newcomer] = *std::move(made);
      return;
    }
    ASSERT_TRUE(made) << made.error().describe();
    made_[newcomer] = *std::move(made);
    expect_sum(*made_[newcomer]);
  }

  static void expect_sum(Communicator& all) {
    std::vector<std::int32_t> one(1, 1);
    const auto done = all.all_reduce(one, one, Reduction::sum);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(one[0], static_cast<std::int32_t>(kGrown));
  }

  const bool is_elastic_;
  const Silence silence_;
  std::vector<std::unique_ptr<Discreet>> registries_;
  SimRanks ranks_;
  std::vector<Made> made_;
  Duration wait_ = kForGood;
  bool is_over_ = false;
};

class Introductions : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Of, Introductions, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Elastic" : "Strict"; });

const Silence kSilences[] = {
    {0, 3, false, false}, {2, 4, false, false}, {4, 1, true, true}, {3, 4, true, false}};

TEST_P(Introductions, EndAlikeOnAllMembersWhoAreLeftWheneverOneOfThemDies) {
  for (const Silence& silence : kSilences) {
    for (Rank victim = 0; victim < kGrown; ++victim) {
      for (std::uint64_t when = 5 * victim;; when += kStep) {
        SCOPED_TRACE(std::to_string(silence.deaf) + " never hears of " +
                     std::to_string(silence.unheard) + ", and " + std::to_string(victim) +
                     " dies before event " + std::to_string(when));
        Strangers strangers(GetParam(), silence);
        if (!strangers.kill(victim, when)) break;
        strangers.expect_that_members_have_it_all_or_none(victim);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(Introductions, BringTogetherWhomTheRegistryNeverTellsOfEachOther) {
  for (const bool are_newcomers_first : {false, true}) {
    for (const bool is_mutual : {false, true}) {
      for (Rank deaf = 0; deaf < kGrown; ++deaf) {
        for (Rank unheard = deaf < kSize ? kSize : 0; unheard < kGrown; ++unheard) {
          if (unheard == deaf) continue;
          SCOPED_TRACE(std::to_string(deaf) + " never hears of " + std::to_string(unheard) +
                       (is_mutual ? ", nor that of it" : "") +
                       (are_newcomers_first ? "; newcomers dial" : ""));
          Strangers(GetParam(), {deaf, unheard, is_mutual, are_newcomers_first})
              .expect_that_all_meet();
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::tests
