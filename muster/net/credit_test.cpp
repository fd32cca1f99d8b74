#include "muster/net/credit.h"

#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace muster::net {
namespace {

TEST(Credit, NeverLetsMoreThanTheWindowWaitAndNeverStandsStill) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    constexpr std::uint32_t kWindow = 128 << 10;
    SendWindow sender;
    ReceiveWindow receiver;
    sender.open(kWindow);
    receiver.open(kWindow);
    std::deque<std::uint32_t> waiting;
    std::size_t bytes = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::uint32_t cost = kMessageCost + random() % (64 << 10);
      if (random() % 2 == 0 && sender.fits(cost)) {
        sender.take(cost);
        ASSERT_TRUE(receiver.take(cost));
        waiting.push_back(cost);
        bytes += cost;
      } else if (!waiting.empty()) {
        bytes -= waiting.front();
        const bool due = receiver.done(waiting.front());
        waiting.pop_front();
        if (due || random() % 8 == 0) {
          const std::uint32_t credit = receiver.owed();
          receiver.settle(credit);
          ASSERT_TRUE(sender.give_back(credit));
        }
      }
      ASSERT_LE(bytes, kWindow);
      // With nothing waiting, the largest message that goes whole must fit.
      ASSERT_TRUE(!waiting.empty() || sender.fits(kMessageCost + (64 << 10)));
    }
  }
}

TEST(Credit, APeerThatSendsMoreThanItMayIsCaught) {
  ReceiveWindow receiver;
  receiver.open(1000);
  EXPECT_TRUE(receiver.take(900));
  EXPECT_FALSE(receiver.take(101));
  receiver.done(900);
  EXPECT_FALSE(receiver.take(101));  // Not told yet, so not his yet.
  receiver.settle(900);
  EXPECT_TRUE(receiver.take(1000));
}

TEST(Credit, APeerThatGivesBackMoreThanItGotIsCaught) {
  SendWindow sender;
  sender.open(1000);
  sender.take(300);
  EXPECT_FALSE(sender.give_back(301));
  EXPECT_TRUE(sender.give_back(300));
}

TEST(Credit, WhatTheUserStillHoldsOfALostConnectionIsNotCreditedToTheNext) {
  ReceiveWindow receiver;
  receiver.open(1000);
  ASSERT_TRUE(receiver.take(600));
  receiver.open(1000);
  ASSERT_TRUE(receiver.take(500));

  receiver.done(600);
  EXPECT_EQ(receiver.owed(), 0u);
  receiver.done(500);
  EXPECT_EQ(receiver.owed(), 500u);
}

TEST(Credit, AUserThatIsDoneTwiceGivesNothingAway) {
  ReceiveWindow receiver;
  receiver.open(1000);
  ASSERT_TRUE(receiver.take(200));
  receiver.done(200);
  receiver.done(200);
  EXPECT_EQ(receiver.owed(), 200u);
}

}  // namespace
}  // namespace muster::net
