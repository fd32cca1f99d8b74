#include "muster/drivers/tcp/heat.h"

#include <gtest/gtest.h>

namespace muster::drivers::tcp {
namespace {

constexpr TimePoint kStart{std::chrono::hours(1)};
constexpr Duration kClose = Heat::kClose - std::chrono::microseconds(1);

// Looks in vain until the heat is gone.
void cool(Heat& heat) {
  for (int look = 1; look < Heat::kPatience; ++look) ASSERT_FALSE(heat.missed());
  ASSERT_TRUE(heat.missed());
}

TEST(Heat, BytesThatComeRarelyAreNotWaitedFor) {
  Heat heat;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(heat.warmed(kStart + i * Heat::kClose));
}

TEST(Heat, BytesThatFollowCloselyAreWaitedFor) {
  Heat heat;
  EXPECT_FALSE(heat.warmed(kStart));
  EXPECT_TRUE(heat.warmed(kStart + kClose));
}

TEST(Heat, LooksBecomeRarerWhenTheyAreInVain) {
  Heat heat;
  for (int i = 0; i < Heat::kEager; ++i) {
    ASSERT_TRUE(heat.is_due());
    ASSERT_FALSE(heat.missed());
  }
  int due = 0;
  for (int i = 0; i < 10 * Heat::kRarely; ++i) due += heat.is_due() ? 1 : 0;
  EXPECT_EQ(due, 10);

  heat.hit();

  EXPECT_TRUE(heat.is_due());
}

TEST(Heat, OneThatDisappointsIsTriedMoreRarelyEachTime) {
  Heat heat;
  TimePoint now = kStart;
  heat.warmed(now);
  for (int skipped : {0, 0, 1, 3, 7}) {
    for (int i = 0; i < skipped; ++i) EXPECT_FALSE(heat.warmed(now += kClose));
    EXPECT_TRUE(heat.warmed(now += kClose));
    cool(heat);
  }

  for (int i = 0; i < 15; ++i) EXPECT_FALSE(heat.warmed(now += kClose));
  EXPECT_TRUE(heat.warmed(now += kClose));
  heat.hit();
  cool(heat);
  EXPECT_TRUE(heat.warmed(now += kClose));  // It has paid, so it is trusted again.
}

}  // namespace
}  // namespace muster::drivers::tcp
