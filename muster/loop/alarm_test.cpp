#include "muster/loop/alarm.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace muster::loop {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Whether it rings within the time.
bool rings(const Alarm& alarm, milliseconds patience) {
  pollfd source{alarm.descriptor(), POLLIN, 0};
  return poll(&source, 1, static_cast<int>(patience.count())) == 1;
}

class Alarms : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(alarm_.open()); }
  TimePoint now() const { return system_clock().now(); }

  Alarm alarm_;
};

TEST_F(Alarms, ItRingsByTheTimeItWasGiven) {
  const TimePoint when = now() + milliseconds(3);
  alarm_.ring_by(when, now());
  EXPECT_TRUE(rings(alarm_, milliseconds(60'000)));
  EXPECT_GE(now(), when);
}

TEST_F(Alarms, WhatHasPassedRingsAtOnce) {
  alarm_.ring_by(now() - milliseconds(1), now());
  EXPECT_TRUE(rings(alarm_, milliseconds(60'000)));
}

TEST_F(Alarms, AnEarlierTimeTakesThePlaceOfALaterOne) {
  alarm_.ring_by(now() + hours(1), now());
  alarm_.ring_by(now() + milliseconds(3), now());
  EXPECT_TRUE(rings(alarm_, milliseconds(60'000)));
}

TEST_F(Alarms, OneThatRingsTooEarlyDoesSoOnce) {
  alarm_.ring_by(now() + milliseconds(3), now());
  alarm_.ring_by(now() + hours(1), now());  // The first is left as it is.
  ASSERT_TRUE(rings(alarm_, milliseconds(60'000)));
  alarm_.ring_by(now() + hours(1), now());
  EXPECT_FALSE(rings(alarm_, milliseconds(0)));
}

TEST_F(Alarms, ForeverNeedsNone) {
  alarm_.ring_by(kForever, now());
  EXPECT_FALSE(rings(alarm_, milliseconds(0)));
}

}  // namespace
}  // namespace muster::loop
