#include "muster/drivers/tcp/busy_poller.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

namespace muster::drivers::tcp {
namespace {

using enum loop::Outlook;

struct Socket final : Pollable {
  bool has_bytes = false;
  bool is_elsewhere = true;  // Its peer, on another processor.
  int looks = 0;
  bool look() override {
    ++looks;
    return has_bytes;
  }
  bool is_worth_waiting_for() const override { return is_elsewhere; }
  bool comes_in_heaps = false;
  bool is_better_late() const override { return comes_in_heaps; }
};

struct BusyPollerTest : ::testing::Test {
  BusyPollerTest() { clock.advance(std::chrono::hours(1)); }
  // Bytes come from each of them.
  void round() {
    for (Socket* socket : {&a, &b}) poller.saw(*socket, clock.now());
  }

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make({.clock = &clock, .keeper = false});
  BusyPoller poller{*loop, 2};
  Socket a, b;
};

TEST_F(BusyPollerTest, NothingIsHopedForWhereNothingIsBusy) {
  EXPECT_EQ(poller.outlook(), none);
  poller.saw(a, clock.now());
  EXPECT_EQ(poller.outlook(), none);
}

TEST_F(BusyPollerTest, ASingleBusySocketIsLookedAt) {
  a.has_bytes = true;
  poller.look_at(a);
  EXPECT_EQ(poller.outlook(), soon);
  EXPECT_TRUE(poller.poll());
  poller.forget(a);
  EXPECT_FALSE(poller.poll());
  EXPECT_EQ(a.looks, 1);
}

TEST_F(BusyPollerTest, WhatIsBetterTakenLateIsNotLookedAtButSleptOn) {
  a.has_bytes = true;
  a.comes_in_heaps = true;
  poller.look_at(a);
  EXPECT_EQ(poller.outlook(), none);
  EXPECT_FALSE(poller.poll());
  EXPECT_FALSE(poller.arm());
  EXPECT_EQ(a.looks, 0);

  a.comes_in_heaps = false;

  EXPECT_EQ(poller.outlook(), soon);
  EXPECT_TRUE(poller.poll());
}

TEST_F(BusyPollerTest, APeerOnThisProcessorIsLetHaveIt) {
  a.is_elsewhere = false;
  poller.look_at(a);
  EXPECT_EQ(poller.outlook(), one);
}

TEST_F(BusyPollerTest, WhatAPeerOnThisProcessorHasSentIsNotLookedAfterBeforeItHasHadIt) {
  a.has_bytes = true;
  a.is_elsewhere = false;
  poller.look_at(a);
  ASSERT_EQ(poller.outlook(), one);
  ASSERT_TRUE(poller.poll()) << "it has had it";
  EXPECT_FALSE(poller.poll());
  EXPECT_EQ(a.looks, 1);

  EXPECT_EQ(poller.outlook(), one);

  EXPECT_TRUE(poller.poll());
}

TEST_F(BusyPollerTest, NobodySleepsOnALookThatWasLeftOut) {
  a.has_bytes = true;
  a.is_elsewhere = false;
  poller.look_at(a);
  ASSERT_EQ(poller.outlook(), one);
  ASSERT_TRUE(poller.poll());

  EXPECT_TRUE(poller.arm()) << "there may be work";

  EXPECT_TRUE(poller.poll());
  a.has_bytes = false;
  EXPECT_TRUE(poller.arm());
  EXPECT_FALSE(poller.poll());
  EXPECT_FALSE(poller.arm());
}

TEST_F(BusyPollerTest, WhereThePeerRunsIsAskedNowAndThen) {
  poller.look_at(a);
  ASSERT_EQ(poller.outlook(), soon);
  a.is_elsewhere = false;
  int waits = 1;
  while (poller.outlook() == soon) ASSERT_LT(++waits, 16);
  EXPECT_EQ(waits, 8);

  b.is_elsewhere = false;
  poller.look_at(b);
  EXPECT_EQ(poller.outlook(), one) << "of another socket at once";
}

TEST_F(BusyPollerTest, SeveralBusySocketsAreLeftToTheSystem) {
  a.has_bytes = true;
  poller.look_at(a);
  round();
  EXPECT_EQ(poller.outlook(), sockets);
  EXPECT_FALSE(poller.poll());
  EXPECT_EQ(a.looks, 0);
}

TEST_F(BusyPollerTest, WherePeersOutnumberTheProcessorsEvenOneIsLeftToTheSystem) {
  a.has_bytes = true;
  poller.look_at(a);
  poller.saw(a, clock.now());
  poller.add_neighbour();
  EXPECT_EQ(poller.outlook(), soon) << "one processor for each";

  poller.add_neighbour();

  EXPECT_EQ(poller.outlook(), sockets);
  EXPECT_FALSE(poller.poll());
  EXPECT_EQ(a.looks, 0);

  poller.remove_neighbour();
  EXPECT_EQ(poller.outlook(), soon);
}

TEST_F(BusyPollerTest, PeersThatOutnumberTheProcessorsInSilenceAreNotWaitedForAwake) {
  for (int i = 0; i < 4; ++i) poller.add_neighbour();
  EXPECT_EQ(poller.outlook(), none);
  poller.saw(a, clock.now());
  EXPECT_EQ(poller.outlook(), sockets);
  clock.advance(Crowd::kLately);
  EXPECT_EQ(poller.outlook(), none);
}

TEST_F(BusyPollerTest, BytesFoundByALookCountAsWell) {
  a.has_bytes = true;
  poller.look_at(a);
  ASSERT_TRUE(poller.poll());
  poller.saw(b, clock.now());
  EXPECT_EQ(poller.outlook(), sockets);
}

TEST_F(BusyPollerTest, OneThatHasBeenSilentIsForgotten) {
  round();
  clock.advance(Crowd::kLately);
  poller.saw(a, clock.now());
  poller.look_at(a);
  EXPECT_EQ(poller.outlook(), soon);
}

TEST_F(BusyPollerTest, WaitsThatEndInASleepAreTriedMoreRarely) {
  int tries = 0;
  for (int wait = 0; wait < 255; ++wait) {
    round();
    tries += poller.outlook() == sockets ? 1 : 0;
    poller.arm();
  }
  EXPECT_EQ(tries, 8);

  for (int wait = 0; poller.outlook() != sockets; ++wait) ASSERT_LT(wait, 128);
  round();  // This time they came.

  EXPECT_EQ(poller.outlook(), sockets);
  poller.arm();
  EXPECT_EQ(poller.outlook(), sockets) << "a first disappointment";
}

}  // namespace
}  // namespace muster::drivers::tcp
