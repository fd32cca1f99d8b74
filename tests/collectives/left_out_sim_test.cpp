// Ranks that an agreement leaves out, though they live and most can reach them.
//
// Nobody has a deadline: who waits for such a rank would wait for as long as it keeps its end open,
// or until silence is taken for loss.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 5;
constexpr Rank kLast = kSize - 1;

using Made = std::unique_ptr<Communicator>;

void be_elastic(CommunicatorOptions& options) {
  options.manners.elastic = true;
  options.manners.deadline = Duration::max();
}

// The link between the last rank and another breaks while all split, and the last is left out. It
// is the first in a part of two, and may be the only one that never had what all were to have. What
// it says to its partner may come late. False if there was no such event.
bool part_from(Rank other, Rank partner, Duration late, std::uint64_t seed, std::uint64_t when) {
  SimRanks ranks(kSize, seed, be_elastic);
  std::vector<Made> parts(kSize);  // They are not closed, as that would be heard.
  std::vector<std::int32_t> sums(kSize);
  TimePoint broken = kForever;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        const bool is_of_two = rank == partner || rank == kLast;
        auto part = all.split(is_of_two ? 1 : 0, -static_cast<int>(rank));
        const bool may_fail = rank == kLast || rank == other;
        if (!part) {
          EXPECT_TRUE(may_fail) << "rank " << rank << ": " << part.error().describe();
          return;
        }
        parts[rank] = *std::move(part);
        std::vector<std::int32_t> mine(1, 1 << rank);
        const auto done = parts[rank]->all_reduce(mine, mine, Reduction::sum);
        if (!is_of_two) return;
        if (done) sums[rank] = mine[0];
        if (rank == kLast) return;
        EXPECT_TRUE(done) << done.error().describe();
        EXPECT_TRUE(broken == kForever || ranks.now() - broken <= late + 1s);
      },
      [&](std::uint64_t event) {
        if (event == when) {
          broken = ranks.now();
          ranks.net().break_connections(ranks.host(other), ranks.host(kLast));
          if (late > 0s) ranks.net().part(ranks.host(partner), ranks.host(kLast));
        }
        if (broken != kForever && ranks.now() >= broken + late) {
          ranks.net().join(ranks.host(partner), ranks.host(kLast));
        }
      }));
  EXPECT_TRUE(sums[kLast] == 0 || sums[kLast] == sums[partner]);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator&) { parts[rank].reset(); }));
  return broken != kForever;
}

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kSeeds = 8;
#else
constexpr std::uint64_t kSeeds = 1;
#endif

void part_before_each_event(Rank other, Rank partner, Duration late, std::uint64_t seed) {
  for (std::uint64_t when = 0; !::testing::Test::HasFailure(); ++when) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ": ranks " + std::to_string(other) +
                 " and 4 part before event " + std::to_string(when) + ", 4 is in a part with " +
                 std::to_string(partner) + (late > 0s ? " and late" : ""));
    if (!part_from(other, partner, late, seed, when)) return;
  }
}

TEST(WhoIsLeftOut, OfASplitIsNotWaitedForInAPartOfTwo) {
  for (std::uint64_t seed = 2; seed < 2 + kSeeds; ++seed) {
    for (Rank other = 0; other < kLast; ++other) {
      for (Rank partner = 0; partner < kLast; ++partner) {
        if (partner == other) continue;
        for (const Duration late : {0s, 1s}) part_before_each_event(other, partner, late, seed);
      }
    }
  }
}

}  // namespace
}  // namespace muster::tests
