// One round of a crowd in which somebody dies.

#include <algorithm>
#include <csignal>
#include <random>

#include <gtest/gtest.h>

#include "muster/net/testing/leaks.h"
#include "tests/collectives/adders.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

struct Round {
  CrowdOptions options;
  std::vector<Rank> victims;
  bool is_stopped = false;  // Not killed: long enough to be taken for lost.

  Round(unsigned seed, Rounds kind) {
    std::minstd_rand random(seed * 2654435761U + 1);
    options.size = 4 + random() % 5;
    options.way = random() % 2 == 0 ? "shm" : "tcp";
    constexpr std::size_t kCounts[] = {1, 100, 3000, 20000, 150000};
    options.count = kCounts[random() % std::size(kCounts)];
    if (random() % 4 == 0) options.manner = "elastic";
    is_stopped = options.manner == "strict" && random() % 12 == 0;
    if (kind == Rounds::elastic_over_links) {
      options.way = "tcp";
      options.manner = "elastic";
      options.count = kCounts[random() % 3];
      is_stopped = false;
    }
    options.report_after.resize(options.size);
    const std::size_t deaths = is_stopped ? 1 : 1 + random() % 2;
    while (victims.size() < deaths) {
      const Rank victim = random() % options.size;
      if (options.report_after[victim] != 0) continue;
      options.report_after[victim] = 1 + random() % (options.count > 5000 ? 20 : 300);
      victims.push_back(victim);
    }
    options.deaths = static_cast<Rank>(deaths);
  }
  bool is_victim(Rank rank) const { return options.report_after[rank] != 0; }
  Rank left() const { return options.size - static_cast<Rank>(victims.size()); }
};

void expect_survivors_go_on(const Round& round, Crowd& crowd) {
  if (round.options.manner == "strict") {
    for (Rank rank = 0; rank < round.options.size; ++rank) {
      if (round.is_victim(rank)) continue;
      const std::string error = crowd.line(rank);
      EXPECT_NE(error.find("unavailable"), std::string::npos) << error;
      const bool names_one = std::ranges::any_of(round.victims, [&](Rank victim) {
        return error.find("rank " + std::to_string(victim)) != std::string::npos;
      });
      EXPECT_TRUE(names_one) << error;
    }
  }
}

void expect_end(const Round& round, Crowd& crowd) {
  const bool is_strict = round.options.manner == "strict";
  const std::string last = is_strict ? "left " + std::to_string(round.left()) + " done" : "done";
  for (Rank rank = 0; rank < round.options.size; ++rank) {
    if (!round.is_victim(rank)) {
      EXPECT_EQ(crowd.line(rank), last);
    }
  }
}

}  // namespace

void play_round(unsigned seed, Rounds kind) {
  const Round round(seed, kind);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(round.options.size) + " " +
               round.options.way + " " + std::to_string(round.options.count) + " " +
               round.options.manner + (round.is_stopped ? " stopped" : ""));
  const auto before = net::testing::look_at_holdings();
  {
    Crowd crowd(round.options);
    for (const Rank victim : round.victims) {
      // The second may have heard of the first one's death before it came so far.
      if (victim == round.victims.front()) crowd.await_report(victim);
      round.is_stopped ? crowd[victim].stop() : crowd[victim].signal(SIGKILL);
    }
    const TimePoint killed = system_clock().now();
    expect_survivors_go_on(round, crowd);
    // A second, or the silence of who is stopped, and what a busy machine adds.
    EXPECT_LT(system_clock().now() - killed, 15s);
    expect_end(round, crowd);
    for (Rank rank = 0; rank < round.options.size; ++rank) {
      if (!round.is_victim(rank)) crowd.finish(rank);
    }
    if (round.is_stopped) {
      const Rank victim = round.victims.front();
      crowd[victim].signal(SIGCONT);
      EXPECT_NE(crowd.line(victim).find("unavailable"), std::string::npos);
    }
  }
  EXPECT_EQ(net::testing::leaked(before, net::testing::look_at_holdings()), "");
}

}  // namespace muster::tests
