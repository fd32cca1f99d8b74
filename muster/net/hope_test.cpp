#include "muster/net/hope.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

// How many of so many waits were tries, all in vain.
int tries_in_vain(Hope& hope, int waits) {
  int tries = 0;
  for (int i = 0; i < waits; ++i) {
    tries += hope.is_worth_a_try() ? 1 : 0;
    hope.gave_up();
  }
  return tries;
}

TEST(Hope, AsLongAsItComesEachWaitIsATry) {
  Hope hope;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(hope.is_worth_a_try());
    hope.came();
  }
}

TEST(Hope, TriesInVainBecomeRareThoughNeverNone) {
  Hope hope;
  EXPECT_EQ(tries_in_vain(hope, 255), 8);
  EXPECT_EQ(tries_in_vain(hope, 1280), 10);
}

TEST(Hope, ATryThatPaysMakesUpForThoseInVain) {
  Hope hope;
  tries_in_vain(hope, 255);
  for (int wait = 0; !hope.is_worth_a_try(); ++wait) ASSERT_LT(wait, 128);
  hope.came();

  EXPECT_TRUE(hope.is_worth_a_try());
  hope.gave_up();
  EXPECT_TRUE(hope.is_worth_a_try()) << "a first disappointment";
}

TEST(Hope, WhatComesWithoutATryProvesNothing) {
  Hope hope;
  tries_in_vain(hope, 200);
  ASSERT_FALSE(hope.is_worth_a_try());
  hope.came();
  EXPECT_FALSE(hope.is_worth_a_try());
}

}  // namespace
}  // namespace muster::net
