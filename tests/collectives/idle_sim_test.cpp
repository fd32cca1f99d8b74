// A rank that is in no call, and leads others who are.

#include <memory>

#include <gtest/gtest.h>

#include "muster/collectives/testing/sleeper.h"
#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;
using collectives::testing::Sleeper;

constexpr Rank kSize = 5;
constexpr Rank kLeft = 2;

// Ranks 2 to 4 are lost before event `when`, and known to have ended only `later`. Ranks 0 and 1
// are too few until then, and have the sum afterwards. False if there was no such event.
bool lose_most(std::uint64_t when, Duration later, bool& was_idle) {
  std::vector<std::unique_ptr<Sleeper>> sleepers;
  SimRanks ranks(kSize, 1, [&](CommunicatorOptions& options) {
    options.manners.elastic = true;  // And what hangs fails.
    if (options.rank < kLeft) return;
    sleepers.push_back(std::make_unique<Sleeper>());
    options.process = sleepers.back()->process();
  });
  std::vector<std::vector<Rank>> contributors(kLeft);
  TimePoint lost = kForever;
  bool has_ended = false;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        std::vector<std::int32_t> mine(1, 1 << rank);
        const auto done = all.all_reduce(mine, mine, Reduction::sum);
        if (rank >= kLeft) return;
        ASSERT_TRUE(done) << done.error().describe();
        contributors[rank] = *done->contributors;
        std::int32_t sum = 0;
        for (const Rank one : *done->contributors) sum += 1 << one;
        EXPECT_EQ(mine[0], sum);
        if (lost == kForever) return;
        EXPECT_LE(ranks.now() - lost, later + later / 2);
      },
      [&](std::uint64_t event) {
        if (event == when) {
          lost = ranks.now();
          was_idle = was_idle || (!contributors[0].empty() && contributors[1].empty());
          for (Rank rank = kLeft; rank < kSize; ++rank) ranks.kill(rank);
        }
        if (has_ended || lost == kForever || ranks.now() < lost + later) return;
        has_ended = true;
        for (const auto& sleeper : sleepers) sleeper->end();
      }));
  EXPECT_EQ(contributors[0], contributors[1]);
  return lost != kForever;
}

// The one who waits has the result and does not know that all have it; the leader has returned.
TEST(AnIdleLeader, AsksAgainWhetherTheLostHaveEnded) {
  bool was_idle = false;
  for (std::uint64_t when = 0;; ++when) {
    SCOPED_TRACE(when);
    if (!lose_most(when, 1s, was_idle)) break;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(was_idle);
}

}  // namespace
}  // namespace muster::tests
