// Ranks as processes that are killed or stopped while they work.

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "muster/net/testing/leaks.h"
#include "tests/collectives/adders.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

struct Setting {
  std::string way;
  std::size_t count;
};

class Death : public ::testing::TestWithParam<Setting> {
 protected:
  static CrowdOptions crowd(const std::string& manner, std::vector<std::uint64_t> report_after) {
    CrowdOptions options;
    options.size = static_cast<Rank>(report_after.size());
    options.way = GetParam().way;
    options.count = GetParam().count;
    options.manner = manner;
    options.report_after = std::move(report_after);
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(OfProcesses, Death,
                         ::testing::Values(Setting{"shm", 1}, Setting{"shm", 100000},
                                           Setting{"tcp", 1000}, Setting{"tcp", 100000}),
                         [](const auto& one) {
                           return one.param.way + std::to_string(one.param.count);
                         });

TEST_P(Death, OfARankIsToldToAllWhoGoOnWithoutIt) {
  const auto before = net::testing::look_at_holdings();
  Duration quickest = Duration::max();
  for (const Rank victim : {0U, 3U}) {
    std::vector<std::uint64_t> report_after(5);
    report_after[victim] = 7 + victim;
    Crowd ranks(crowd("strict", report_after));
    ranks.await_report(victim);
    ranks[victim].signal(SIGKILL);
    const TimePoint killed = system_clock().now();
    const std::string name = "rank " + std::to_string(victim);
    for (Rank rank = 0; rank < 5; ++rank) {
      if (rank == victim) continue;
      const std::string error = ranks.line(rank);
      EXPECT_NE(error.find("unavailable"), std::string::npos) << error;
      EXPECT_NE(error.find(name), std::string::npos) << error;
    }
    // A second, and what a busy machine adds.
    const Duration taken = system_clock().now() - killed;
    EXPECT_LT(taken, 10s);
    quickest = std::min(quickest, taken);
    for (Rank rank = 0; rank < 5; ++rank) {
      if (rank != victim) {
        EXPECT_EQ(ranks.line(rank), "left 4 done");
      }
    }
    for (Rank rank = 0; rank < 5; ++rank) {
      if (rank != victim) ranks.finish(rank);
    }
  }
  EXPECT_LT(quickest, 1s) << "of two, one at least was not held up by others";
  EXPECT_EQ(net::testing::leaked(before, net::testing::look_at_holdings()), "");
}

TEST_P(Death, DoesNotStopAnElasticOne) {
  Crowd ranks(crowd("elastic", {15, 0, 5, 0}));
  ranks.await_report(2);
  ranks[2].signal(SIGKILL);
  ranks.await_report(0);
  ranks[0].signal(SIGKILL);
  for (const Rank rank : {1U, 3U}) EXPECT_EQ(ranks.line(rank), "done");
  for (const Rank rank : {1U, 3U}) ranks.finish(rank);
}

TEST_P(Death, IsNotWhatAStoppedRankIsTakenFor) {
  Crowd ranks(crowd("watchful", {0, 3, 0, 0}));
  ranks.await_report(1);
  ranks[1].stop();
  ranks.await_stuck(0);  // It has missed it, but not for as long as means loss.
  ranks[1].signal(SIGCONT);
  ranks[3].signal(SIGKILL);
  for (const Rank rank : {0U, 1U, 2U}) {
    EXPECT_NE(ranks.line(rank).find("rank 3"), std::string::npos);
  }
  for (const Rank rank : {0U, 1U, 2U}) EXPECT_EQ(ranks.line(rank), "left 3 done");
  for (const Rank rank : {0U, 1U, 2U}) ranks.finish(rank);
}

// 500 of them under the label `long`.
TEST(RandomRounds, WithFourToEightProcessesEndWellForTheSurvivors) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    play_round(seed);
    if (HasFailure()) return;
  }
}

// 200 of them under the label `long`.
TEST(RandomRounds, OfElasticOnesOverLinksEndWellForTheSurvivors) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    play_round(seed, Rounds::elastic_over_links);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster::tests
