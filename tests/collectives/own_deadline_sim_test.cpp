// One rank has less patience than the others, who have all there is: its calls end by its own
// deadline while somebody stands still for a while.
//
// All do a number of steps together, as the guide tells: who fails shrinks, and does again what not
// all have completed. What a rank brings to a step tells which step it takes it for. All come to
// the end, and no two have another result of the same step.

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 5;
constexpr Rank kHasty = 2;
constexpr std::uint64_t kSteps = 4;

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kStep = 1;
#else
constexpr std::uint64_t kStep = 7;
#endif

struct Way {
  std::string name;
  bool is_elastic = false;
  std::size_t count = 3;
  Rank slow = 3;
  bool is_frozen = false;
  std::optional<Rank> victim = std::nullopt;  // Dies when the other stops.
  std::optional<Rank> second = std::nullopt;  // Dies after that one has gone on.
  bool tries_again = false;                   // A few times, before it shrinks.
  bool shares = false;                        // Of all, or of one; else they add.
};

class Walk {
 public:
  explicit Walk(const Way& way)
      : way_(way),
        ranks_(kSize, 1,
               [&](CommunicatorOptions& options) {
                 options.manners.elastic = way.is_elastic;
                 options.manners.keep_input = true;
                 options.manners.deadline = options.rank == kHasty ? 1s : Duration::max();
                 const bool dies = options.rank == way.victim || options.rank == way.second;
                 if (dies) options.manners.deadline = 20s;  // It has to end.
                 options.silence = 10s;
               }),
        walkers_(kSize) {
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) { walkers_[rank].all = *all.dup(); }));
  }

  // One stops before event `when`; the second death is `later` events after it has gone on. False
  // if there was no such event.
  bool walk(std::uint64_t when, std::uint64_t later) {
    std::optional<TimePoint> goes_on;
    std::optional<std::uint64_t> gone_on;
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator&) { walk_as(rank); },
                           [&](std::uint64_t event) {
                             if (event == when) {
                               goes_on = ranks_.now() + 3s;
                               stop();
                             }
                             if (!gone_on && goes_on && ranks_.now() >= *goes_on) {
                               gone_on = event;
                               if (!way_.is_frozen) ranks_.let_go_on(way_.slow);
                             }
                             if (gone_on && event == *gone_on + later && way_.second) {
                               ranks_.kill(*way_.second);
                             }
                           }));
    return goes_on.has_value();
  }

  // But who is cut off since it has not taken what was sent, or is left with too few.
  void expect_all_came_to_the_end() {
    if (way_.count > 3 || way_.second || way_.tries_again) return;
    for (Rank rank = 0; rank < kSize; ++rank) {
      const Walker& walker = walkers_[rank];
      EXPECT_TRUE(walker.has_come_to_the_end || !ranks_.is_alive(rank) || is_left_alone(walker))
          << rank << ": " << walker.why_not << " after " << walker.results.size();
    }
  }

  void expect_same_results() {
    // Who has closed its end may have had a last one that the others do again without it.
    const std::uint64_t steps = way_.is_elastic ? kSteps : kSteps - 1;
    for (std::uint64_t step = 1; step <= steps; ++step) {
      std::optional<std::int32_t> known;
      for (Rank rank = 0; rank < kSize; ++rank) {
        const auto found = walkers_[rank].results.find(step);
        if (!ranks_.is_alive(rank) || found == walkers_[rank].results.end()) continue;
        if (!known) known = found->second;
        EXPECT_EQ(found->second, *known) << "step " << step << " on rank " << rank;
      }
    }
  }

 private:
  struct Walker {
    std::unique_ptr<Communicator> all;
    // Of a share that it gave up and all others have it has none.
    std::map<std::uint64_t, std::int32_t> results;
    bool has_come_to_the_end = false;
    std::string why_not;
  };

  // The others have had the last step and closed their ends, and of who died it cannot know
  // whether that one lives.
  bool is_left_alone(const Walker& walker) const {
    return way_.victim && walker.results.size() == kSteps - 1 &&
           walker.why_not.find("most ranks cannot be reached") != std::string::npos &&
           std::ranges::any_of(walkers_, &Walker::has_come_to_the_end);
  }

  void stop() {
    if (way_.victim) ranks_.kill(*way_.victim);
    if (way_.is_frozen) {
      ranks_.freeze(way_.slow, 3s);
    } else {
      ranks_.stop(way_.slow);
    }
  }

  void walk_as(Rank rank) {
    Walker& walker = walkers_[rank];
    std::uint64_t before = 0;  // Steps in communicators before this one.
    std::vector<std::int32_t> mine(way_.count);
    int again = 0;
    std::uint64_t step = 1;
    for (int tries = 0; step <= kSteps; ++tries) {
      if (!ranks_.is_alive(rank)) break;
      ASSERT_LT(tries, 50) << "rank " << rank;
      std::ranges::fill(mine, static_cast<std::int32_t>((1U << rank) + 1000 * step));
      const Result<std::int32_t> sum =
          way_.shares ? share(*walker.all, mine, step) : add(*walker.all, mine, step - before);
      if (sum) {
        EXPECT_TRUE(is_of_one_step(*sum, step)) << *sum << " on rank " << rank;
        walker.results[step++] = *sum;
        continue;
      }
      if (way_.tries_again && ++again < 5) continue;
      again = 0;
      if (!shrink(walker, rank)) break;
      before += walker.all->completed_before();
      // It gave up what all have, and has it too.
      const bool has_it = !way_.tries_again && !way_.shares;
      if (before + 1 > step && has_it) walker.results[step] = mine[0];
      step = before + 1;
    }
    walker.has_come_to_the_end = step > kSteps;
    walker.all.reset();
  }

  static Result<std::int32_t> add(Communicator& all, std::vector<std::int32_t>& mine,
                                  std::uint64_t number) {
    MUSTER_TRY(const Outcome done, all.all_reduce(mine, mine, Reduction::sum));
    EXPECT_EQ(done.number, number) << "rank " << all.rank();
    return mine[0];
  }

  static Result<std::int32_t> share(Communicator& all, const std::vector<std::int32_t>& mine,
                                    std::uint64_t step) {
    const auto first_of = [](const Buffer& buffer) {
      std::int32_t first = 0;
      if (!buffer.empty()) std::memcpy(&first, buffer.data(), sizeof first);
      return first;
    };
    const Buffer own = Buffer::copy_of(std::as_bytes(std::span(mine)));
    // Not at last: who gives to all others need not wait for them, and may be gone before.
    if (step == 2) {
      MUSTER_TRY(const Buffer shared, all.share(all.rank() == 1 ? own : Buffer(), 1));
      return first_of(shared);
    }
    MUSTER_TRY(const std::vector<Buffer> shared, all.all_share(own));
    std::int32_t sum = 0;
    for (const Buffer& one : shared) sum += first_of(one);
    return sum;
  }

  // False if it was left out.
  bool shrink(Walker& walker, Rank rank) {
    for (int tries = 0; tries < 50 && ranks_.is_alive(rank); ++tries) {
      auto again = walker.all->shrink();
      if (again) {
        walker.all = *std::move(again);
        return true;
      }
      if (again.error().code() == Code::unavailable) {
        walker.why_not = again.error().describe();
        return false;
      }
      EXPECT_EQ(again.error().code(), Code::timeout) << again.error().describe();
    }
    return false;
  }

  static bool is_of_one_step(std::int32_t sum, std::uint64_t step) {
    return sum / 1000 % step == 0 && sum / 1000 / step <= kSize;
  }

  const Way way_;
  SimRanks ranks_;
  std::vector<Walker> walkers_;
};

class OwnDeadline : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(
    Of, OwnDeadline,
    ::testing::Values(
        Way{"Strict"}, Way{"StrictLarge", false, 5000}, Way{"StrictFrozen", false, 3, 3, true},
        Way{"StrictDeath", false, 3, 3, false, 4}, Way{"Elastic", true},
        Way{"ElasticLarge", true, 5000}, Way{"ElasticFrozen", true, 3, 3, true},
        Way{"ElasticSlowLeader", true, 3, 0}, Way{"ElasticDeath", true, 3, 3, false, 4},
        Way{"ElasticDeathOfLeader", true, 3, 3, false, 0},
        Way{"ElasticDeaths", true, 3, 3, false, 4, 1},
        Way{"ElasticDeathOfHasty", true, 3, 3, false, 4, 2},
        Way{"ElasticTrying", true, 3, 3, false, 4, {}, true},
        Way{.name = "StrictShares", .shares = true},
        Way{.name = "StrictSharesDeath", .victim = 4, .shares = true},
        Way{.name = "ElasticShares", .is_elastic = true, .shares = true},
        Way{.name = "ElasticSharesFrozen", .is_elastic = true, .is_frozen = true, .shares = true},
        Way{.name = "ElasticSharesSlowLeader", .is_elastic = true, .slow = 0, .shares = true},
        Way{.name = "ElasticSharesDeath", .is_elastic = true, .victim = 4, .shares = true}),
    [](const auto& one) { return one.param.name; });

TEST_P(OwnDeadline, LeavesNobodyWaitingAndNoTwoResultsOfOneOperation) {
  for (std::uint64_t when = 0;; when += kStep) {
    SCOPED_TRACE(when);
    bool is_over = false;
    for (const std::uint64_t later : {5U, 30U, 80U}) {
      Walk walk(GetParam());
      is_over = !walk.walk(when, later);
      walk.expect_same_results();
      if (!is_over) walk.expect_all_came_to_the_end();
      if (HasFailure()) return;
      if (!GetParam().second) break;
    }
    if (is_over) return;
  }
}

}  // namespace
}  // namespace muster::tests
