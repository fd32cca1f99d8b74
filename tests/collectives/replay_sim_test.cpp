// What failed once under a seed can be looked at again.

#include <numeric>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

// Small messages and such as land in the caller's memory, and a death among them.
std::vector<std::string> live_through(std::uint64_t seed) {
  SimRanks ranks(4, seed, {}, true);
  const auto body = [&](Rank rank, Communicator& all) {
    std::vector<std::int32_t> one(1, 1);
    EXPECT_TRUE(all.all_reduce(one, one, Reduction::sum));
    std::vector<double> share(100'000, rank);
    std::vector<double> whole(4 * share.size());
    const auto gathered = all.all_gather(share, whole);
    if (!ranks.is_alive(rank)) return;
    if (gathered) {
      EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), 0.0), 600'000.0);
    }
  };
  const std::uint64_t moment = 40 + seed;
  EXPECT_TRUE(ranks.run(body, [&](std::uint64_t event) {
    if (event == moment) ranks.kill(2);
  }));
  return ranks.net().transcript();
}

TEST(SimRanks, TheSameSeedIsTheSameRun) {
  const std::vector<std::string> first = live_through(7);
  EXPECT_GT(first.size(), 100U);
  EXPECT_EQ(first, live_through(7));
  EXPECT_NE(first, live_through(8));
}

}  // namespace
}  // namespace muster::tests
