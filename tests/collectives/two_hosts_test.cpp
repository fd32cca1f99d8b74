// Ranks on two hosts: shared memory on each, TLS over TCP between one leader each.
//
// The hosts are network namespaces. Shared memory finds its peers by names that
// belong to a namespace, so that none is found across.

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "tests/collectives/adders.h"
#include "tests/collectives/cases.h"
#include "tests/collectives/two_spaces.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;
using net::testing::ChildProcess;

// Ranks take turns between the hosts, so that neighbours never share one.
int host_of(Rank rank) { return static_cast<int>(rank % 2); }

CrowdOptions crowd_over(const TwoSpaces& spaces, Rank size) {
  CrowdOptions options;
  options.size = size;
  options.way = "hosts";
  for (Rank rank = 0; rank < size; ++rank) {
    options.spaces.push_back(spaces.name(host_of(rank)));
    options.addresses.push_back(TwoSpaces::address(host_of(rank)));
  }
  return options;
}

// Of each rank one, with: folder, namespace, address, size, rank.
std::vector<std::unique_ptr<ChildProcess>> start_all(const std::string& role,
                                                     const registries::embedded::TestFolder& folder,
                                                     const TwoSpaces& spaces, Rank size) {
  std::vector<std::unique_ptr<ChildProcess>> ranks;
  for (Rank rank = 0; rank < size; ++rank) {
    auto child = ChildProcess::start(
        role, {folder.path(), spaces.name(host_of(rank)), TwoSpaces::address(host_of(rank)),
               std::to_string(size), std::to_string(rank)});
    EXPECT_TRUE(child);
    ranks.push_back(*std::move(child));
  }
  return ranks;
}

class TwoHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!spaces.is_made()) GTEST_SKIP() << "this needs root and iproute2, to make namespaces";
  }
  TwoSpaces spaces;
};

// What every rank of a test of operations does, in order.
std::vector<Case> cases(Rank ranks) {
  std::vector<Case> all;
  for (const Operation operation : kOperations) {
    for (const std::uint64_t count : {1UL, 3000UL, 150000UL}) {
      for (const bool is_uneven : {false, true}) {
        Case one;
        one.operation = operation;
        one.element = is_uneven ? Element::i32 : Element::f32;
        one.kind = is_uneven ? Reduction::Kind::mean : Reduction::Kind::sum;
        one.root = static_cast<Rank>(count % ranks);
        one.is_uneven = is_uneven;
        one.is_in_place = count == 3000;
        set_counts(one, ranks, count);
        all.push_back(one);
      }
    }
  }
  std::minstd_rand random(17);
  for (int i = 0; i < 20; ++i) all.push_back(draw(random, ranks));
  return all;
}

// folder, namespace, address, size, rank
MUSTER_ROLE(worker) {
  const std::vector<std::string>& given = parent.arguments;
  enter_space(given[1]);
  const Rig rig(given[0], "hosts", given[2]);
  auto all = Communicator::join(
      *rig.loop,
      rig.options(static_cast<Rank>(std::stoul(given[3])), static_cast<Rank>(std::stoul(given[4]))),
      60s);
  if (!all) return 3;
  for (const Case& one : cases((*all)->size())) {
    const Checked checked = run(one, **all);
    if (checked.outcome && checked.wrong.empty()) continue;
    parent.pipe.write_line(
        checked.outcome ? checked.wrong : text_of(one) + ": " + checked.outcome.error().describe());
    return 4;
  }
  parent.pipe.write_line("right");
  if (!parent.pipe.read_line()) return 5;
  std::vector<float> many(std::size_t{1} << 20, 1.0F);
  if (!(*all)->all_reduce(many, many, Reduction::sum) || !(*all)->barrier()) return 6;
  parent.pipe.write_line("added");
  return parent.pipe.read_line() ? 0 : 7;
}

TEST_F(TwoHosts, GiveWhatAPlainLoopGivesAndEachByteCrossesOnce) {
  constexpr Rank kSize = 5;  // Three here, two there.
  const registries::embedded::TestFolder folder;
  const auto ranks = start_all("worker", folder, spaces, kSize);
  const auto expect_all = [&](const std::string& word) {
    for (const auto& rank : ranks) {
      const auto line = rank->pipe().read_line();
      EXPECT_EQ(line ? *line : line.error().describe(), word);
    }
  };
  expect_all("right");
  const std::uint64_t before = spaces.bytes_sent(ranks[0]->pid());
  for (const auto& rank : ranks) rank->pipe().write_line("go");
  expect_all("added");
  const std::uint64_t sent = spaces.bytes_sent(ranks[0]->pid()) - before;
  // Half of the sum goes there to be added to, the other half as the result.
  constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
  EXPECT_GT(sent, kBytes * 9 / 10);
  EXPECT_LT(sent, kBytes * 3 / 2) << "more than the leaders talk across";
  for (const auto& rank : ranks) {
    rank->pipe().write_line("go");
    EXPECT_EQ(*rank->wait(), 0);
  }
}

class DeathOnTwoHosts : public TwoHosts, public ::testing::WithParamInterface<Rank> {};
INSTANTIATE_TEST_SUITE_P(Of, DeathOnTwoHosts, ::testing::Values(0U, 1U, 3U), [](const auto& one) {
  return std::string(one.param < 2 ? "Leader" : "Follower") + std::to_string(one.param);
});

TEST_P(DeathOnTwoHosts, IsToldToAllWhoGoOnWithoutIt) {
  const Rank victim = GetParam();
  CrowdOptions options = crowd_over(spaces, 5);
  options.count = 60000;
  options.report_after = std::vector<std::uint64_t>(5);
  options.report_after[victim] = 4;
  Crowd ranks(options);
  ranks.await_report(victim);
  ranks[victim].signal(SIGKILL);
  const TimePoint killed = system_clock().now();
  for (Rank rank = 0; rank < 5; ++rank) {
    if (rank == victim) continue;
    const std::string error = ranks.line(rank);
    EXPECT_NE(error.find("rank " + std::to_string(victim)), std::string::npos) << error;
  }
  EXPECT_LT(system_clock().now() - killed, 10s);
  for (Rank rank = 0; rank < 5; ++rank) {
    if (rank != victim) {
      EXPECT_EQ(ranks.line(rank), "left 4 done");
    }
  }
  for (Rank rank = 0; rank < 5; ++rank) {
    if (rank != victim) ranks.finish(rank);
  }
}

// A leader of one host, then that of the other.
TEST_F(TwoHosts, AnElasticOneGoesOnWithoutItsLeaders) {
  CrowdOptions options = crowd_over(spaces, 5);
  options.count = 60000;
  options.manner = "elastic";
  options.report_after = {20, 5, 0, 0, 0};
  Crowd ranks(options);
  for (const Rank victim : {1U, 0U}) {
    ranks.await_report(victim);
    ranks[victim].signal(SIGKILL);
  }
  for (const Rank rank : {2U, 3U, 4U}) EXPECT_EQ(ranks.line(rank), "done");
  for (const Rank rank : {2U, 3U, 4U}) ranks.finish(rank);
}

TEST_F(TwoHosts, AStoppedLeaderIsNotTakenForLost) {
  CrowdOptions options = crowd_over(spaces, 5);
  options.count = 60000;
  options.manner = "watchful";
  options.report_after = {0, 3, 0, 0, 0};
  Crowd ranks(options);
  ranks.await_report(1);
  ranks[1].stop();
  ranks.await_stuck(0);
  ranks[1].signal(SIGCONT);
  ranks[2].signal(SIGKILL);
  for (const Rank rank : {0U, 1U, 3U, 4U}) {
    EXPECT_NE(ranks.line(rank).find("rank 2"), std::string::npos);
  }
  for (const Rank rank : {0U, 1U, 3U, 4U}) EXPECT_EQ(ranks.line(rank), "left 4 done");
  for (const Rank rank : {0U, 1U, 3U, 4U}) ranks.finish(rank);
}

// Across hosts within the time after which silence is loss: nobody says that it has stopped.
TEST_F(TwoHosts, ALeaderThatStaysStoppedIsLostToAllOthers) {
  CrowdOptions options = crowd_over(spaces, 5);
  options.count = 60000;
  options.report_after = {0, 3, 0, 0, 0};
  Crowd ranks(options);
  ranks.await_report(1);
  ranks[1].stop();
  const TimePoint stopped = system_clock().now();
  for (const Rank rank : {0U, 2U, 3U, 4U}) {
    EXPECT_NE(ranks.line(rank).find("rank 1"), std::string::npos);
  }
  EXPECT_LT(system_clock().now() - stopped, 15s);
  for (const Rank rank : {0U, 2U, 3U, 4U}) EXPECT_EQ(ranks.line(rank), "left 4 done");
  for (const Rank rank : {0U, 2U, 3U, 4U}) ranks.finish(rank);
  ranks[1].signal(SIGCONT);
  EXPECT_NE(ranks.line(1).find("unavailable"), std::string::npos);
}

// folder, namespace, address, size, rank
MUSTER_ROLE(component) {
  const std::vector<std::string>& given = parent.arguments;
  enter_space(given[1]);
  const Rig rig(given[0], "hosts", given[2]);
  msg::ProxyOptions options;
  options.group = "learners";
  options.type = "learner";
  options.name = "learner_" + given[4];
  options.registry = rig.registry.get();
  for (const auto& driver : rig.drivers) options.drivers.push_back(driver.get());
  options.token = rig.options(1, 0).token;
  options.listen = rig.listen;
  const auto proxy = msg::Proxy::join(*rig.loop, options, 60s);
  if (!proxy) return 3;
  const auto size = static_cast<Rank>(std::stoul(given[3]));
  auto all = Communicator::over_type(**proxy, "all", "learner", size, {}, 60s);
  if (!all) {
    parent.pipe.write_line(all.error().describe());
    return 4;
  }
  std::vector<float> sum(100000, static_cast<float>((*all)->rank() + 1));
  const auto done = (*all)->all_reduce(sum, sum, Reduction::sum);
  const auto wanted = static_cast<float>(size * (size + 1) / 2);
  parent.pipe.write_line(!done ? done.error().describe()
                         : std::ranges::count(sum, wanted) == std::ssize(sum) ? "right"
                                                                              : "wrong");
  return parent.pipe.read_line() ? 0 : 5;
}

TEST_F(TwoHosts, ComponentsOfBothMakeACommunicatorFromTheirProxies) {
  constexpr Rank kSize = 4;
  const registries::embedded::TestFolder folder;
  const auto ranks = start_all("component", folder, spaces, kSize);
  for (const auto& rank : ranks) {
    const auto line = rank->pipe().read_line();
    EXPECT_EQ(line ? *line : line.error().describe(), "right");
  }
  for (const auto& rank : ranks) {
    rank->pipe().write_line("go");
    EXPECT_EQ(*rank->wait(), 0);
  }
}

}  // namespace
}  // namespace muster::tests
