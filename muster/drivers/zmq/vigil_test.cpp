#include "muster/drivers/zmq/vigil.h"

#include <memory>

#include <gtest/gtest.h>

namespace muster::drivers::zmq {
namespace {

using enum loop::Outlook;

struct VigilTest : ::testing::Test {
  VigilTest() { clock.advance(std::chrono::hours(1)); }

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make({.clock = &clock, .keeper = false});
  Vigil vigil{*loop};
};

TEST_F(VigilTest, NothingIsHopedForBeforeAMessageCame) { EXPECT_EQ(vigil.outlook(), none); }

TEST_F(VigilTest, WhoGotAMessageStaysAwakeForTheNext) {
  vigil.saw();
  EXPECT_EQ(vigil.outlook(), relayed);
}

TEST_F(VigilTest, WhoHasHeardNothingForLongSleepsAtOnce) {
  vigil.saw();
  clock.advance(Vigil::kLately);
  EXPECT_EQ(vigil.outlook(), none);
}

TEST_F(VigilTest, WaitsThatEndInASleepAreTriedMoreRarely) {
  int tries = 0;
  for (int wait = 0; wait < 255; ++wait) {
    vigil.saw();
    tries += vigil.outlook() == relayed ? 1 : 0;
    EXPECT_FALSE(vigil.arm());
  }
  EXPECT_EQ(tries, 8);
}

}  // namespace
}  // namespace muster::drivers::zmq
