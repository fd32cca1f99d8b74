// A thread that waits is told at once; a thread that computes stops nothing.

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/loop/loop.h"
#include "tests/process/child.h"
#include "tests/process/computing.h"
#include "tests/process/linked.h"

namespace muster::tests {
namespace {

using loop::Loop;
using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint now() { return system_clock().now(); }

// One thread posts as soon as the other waits; how long each post was under way.
std::vector<Duration> measure_posts(int rounds) {
  auto loop = *Loop::make();
  std::vector<Duration> delays;
  std::atomic<int> expected = 0;
  TimePoint posted_at;
  int arrived = 0;
  std::thread poster([&] {
    for (int round = 1; round <= rounds; ++round) {
      expected.wait(round - 1);
      // Later than the other needs to fall asleep, so that it must be woken.
      let_pass(milliseconds(1));
      posted_at = now();
      loop->post([&arrived, round] { arrived = round; });
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    expected = round;
    expected.notify_all();
    EXPECT_TRUE(loop->wait_until([&] { return arrived == round; }, now() + seconds(30)));
    delays.push_back(now() - posted_at);
  }
  poster.join();
  std::ranges::sort(delays);
  return delays;
}

TEST(Prompt, APostIsSeenAtOnceByAThreadThatWaits) {
  const std::vector<Duration> delays = measure_posts(201);
  EXPECT_LT(delays[delays.size() / 2], milliseconds(1));
}

TEST(Prompt, AThreadThatComputesStopsNeitherTimersNorDescriptors) {
  expect_heard(compute_for(seconds(1)), seconds(1));
}

TEST(Prompt, AThreadThatComputesLongerThanALossTakesKeepsItsLinks) {
  for (const char* scheme : {"shm", "tcp"}) {
    SCOPED_TRACE(scheme);
    expect_linked(compute_while_linked(scheme, seconds(1)), seconds(1));
  }
}

}  // namespace
}  // namespace muster::tests
