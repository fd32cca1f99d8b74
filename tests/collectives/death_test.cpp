// Ranks as processes that are killed or stopped at random moments.
//
// Each rank adds up ones, round after round, and reports to the test. Whatever
// it returned must be the whole sum: a sum over some is never seen.

#include <csignal>
#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "muster/collectives/communicator.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/net/testing/child_process.h"
#include "muster/net/testing/leaks.h"
#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::tests {
namespace {

using namespace collectives;  // NOLINT(google-build-using-namespace): a test of it alone.
using namespace std::chrono_literals;
using net::testing::ChildProcess;

// What a rank needs, in a process of its own.
struct Rig {
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make();
  std::unique_ptr<net::Driver> driver;
  std::unique_ptr<msg::Registry> registry;

  Rig(const std::string& folder, const std::string& way) {
    const loop::Turn turn(*loop);
    driver = way == "tcp" ? drivers::make_tcp_driver(*loop) : *drivers::make_shm_driver(*loop);
    registry = registries::make_embedded_registry(*loop, {.folder = folder});
  }
  ~Rig() {
    const loop::Turn turn(*loop);
    registry.reset();
    driver.reset();
  }
  CommunicatorOptions options(Rank size, Rank rank) const {
    CommunicatorOptions made;
    made.name = "death";
    made.size = size;
    made.rank = rank;
    made.registry = registry.get();
    made.drivers = {driver.get()};
    made.token.assign(32, std::byte{7});
    made.manners.deadline = 30s;  // What hangs fails.
    return made;
  }
};

// Adds ones of `count` numbers until it fails; the error, or what was wrong.
std::string add_until_failure(Communicator& all, std::size_t count, std::uint64_t limit) {
  for (std::uint64_t round = 0; round < limit; ++round) {
    std::vector<float> ones(count, 1.0F);
    const auto done = all.all_reduce(ones, ones, Reduction::sum);
    if (!done) return std::string(name(done.error().code())) + " " + done.error().message();
    const auto contributors = done->contributors;
    const std::size_t expected = contributors ? contributors->size() : all.size();
    for (const float sum : ones) {
      if (sum != static_cast<float>(expected)) return "WRONG " + std::to_string(sum);
    }
  }
  return "done";
}

// folder, way, size, rank, count, elastic
MUSTER_ROLE(adder) {
  const auto& given = parent.arguments;
  const Rig rig(given[0], given[1]);
  CommunicatorOptions options =
      rig.options(static_cast<Rank>(std::stoul(given[2])), static_cast<Rank>(std::stoul(given[3])));
  const std::size_t count = std::stoul(given[4]);
  options.manners.elastic = given[5] == "elastic";
  auto all = Communicator::join(*rig.loop, options, 60s);
  if (!all) return 3;
  parent.pipe.write_line("joined");
  if (options.manners.elastic) {
    parent.pipe.write_line(add_until_failure(**all, count, count > 5000 ? 60 : 1000));
    return parent.pipe.read_line() ? 0 : 4;
  }
  parent.pipe.write_line(add_until_failure(**all, count, UINT64_MAX));
  auto left = (*all)->shrink(30s);
  if (!left) {
    parent.pipe.write_line("shrink: " + left.error().describe());
    return 5;
  }
  parent.pipe.write_line("left " + std::to_string((*left)->size()) + " " +
                         add_until_failure(**left, count, 20));
  return parent.pipe.read_line() ? 0 : 4;  // Until the test has seen it all.
}

struct Crowd {
  registries::embedded::TestFolder folder;
  std::vector<std::unique_ptr<ChildProcess>> ranks;

  Crowd(Rank size, const std::string& way, std::size_t count, const std::string& manner) {
    for (Rank rank = 0; rank < size; ++rank) {
      auto child =
          ChildProcess::start("adder", {folder.path(), way, std::to_string(size),
                                        std::to_string(rank), std::to_string(count), manner});
      EXPECT_TRUE(child);
      ranks.push_back(*std::move(child));
    }
    for (const auto& rank : ranks) EXPECT_EQ(*rank->pipe().read_line(), "joined");
  }
  std::string line(Rank rank) {
    auto read = ranks[rank]->pipe().read_line();
    return read ? *read : "nothing: " + read.error().describe();
  }
  void finish(Rank rank) {
    ranks[rank]->pipe().write_line("go");
    EXPECT_EQ(*ranks[rank]->wait(), 0);
  }
};

void pass(std::minstd_rand& random) {
  const timespec moment{0, static_cast<long>(random() % 20'000'000)};
  nanosleep(&moment, nullptr);  // Any moment of the work will do.
}

struct Setting {
  std::string way;
  std::size_t count;
};

class Death : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(OfProcesses, Death,
                         ::testing::Values(Setting{"shm", 1}, Setting{"shm", 100000},
                                           Setting{"tcp", 1000}, Setting{"tcp", 100000}),
                         [](const auto& one) {
                           return one.param.way + std::to_string(one.param.count);
                         });

TEST_P(Death, OfARankIsToldToAllWhoGoOnWithoutIt) {
  const auto before = net::testing::look_at_holdings();
  for (unsigned seed = 1; seed <= 2; ++seed) {
    std::minstd_rand random(seed);
    const Rank size = 4 + random() % 2;
    const Rank victim = random() % size;
    Crowd crowd(size, GetParam().way, GetParam().count, "strict");
    pass(random);
    crowd.ranks[victim]->signal(SIGKILL);
    const TimePoint killed = system_clock().now();
    const std::string name = "rank " + std::to_string(victim);
    for (Rank rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      const std::string error = crowd.line(rank);
      EXPECT_NE(error.find("unavailable"), std::string::npos) << error;
      EXPECT_NE(error.find(name), std::string::npos) << error;
    }
    // A second, and what a busy machine adds.
    EXPECT_LT(system_clock().now() - killed, 10s);
    for (Rank rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(crowd.line(rank), "left " + std::to_string(size - 1) + " done");
    }
    for (Rank rank = 0; rank < size; ++rank) {
      if (rank != victim) crowd.finish(rank);
    }
  }
  const auto after = net::testing::look_at_holdings();
  EXPECT_EQ(net::testing::leaked(before, after), "");
}

TEST_P(Death, DoesNotStopAnElasticOne) {
  std::minstd_rand random(7);
  const Rank size = 4;
  Crowd crowd(size, GetParam().way, GetParam().count, "elastic");
  pass(random);
  crowd.ranks[2]->signal(SIGKILL);
  pass(random);
  crowd.ranks[0]->signal(SIGKILL);
  for (const Rank rank : {1U, 3U}) EXPECT_EQ(crowd.line(rank), "done");
  for (const Rank rank : {1U, 3U}) crowd.finish(rank);
}

TEST_P(Death, IsNotWhatAStoppedRankIsTakenFor) {
  std::minstd_rand random(11);
  Crowd crowd(4, GetParam().way, GetParam().count, "strict");
  pass(random);
  crowd.ranks[1]->stop();
  const timespec moment{0, 200'000'000};
  nanosleep(&moment, nullptr);  // Shorter than the silence that means loss.
  crowd.ranks[1]->signal(SIGCONT);
  crowd.ranks[3]->signal(SIGKILL);
  for (const Rank rank : {0U, 1U, 2U}) {
    EXPECT_NE(crowd.line(rank).find("rank 3"), std::string::npos);
  }
  for (const Rank rank : {0U, 1U, 2U}) EXPECT_EQ(crowd.line(rank), "left 3 done");
  for (const Rank rank : {0U, 1U, 2U}) crowd.finish(rank);
}

}  // namespace
}  // namespace muster::tests
