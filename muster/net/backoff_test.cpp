#include "muster/net/backoff.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "muster/net/testing/pattern.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, GrowsFromTheFirstToTheLongestAndStaysThere) {
  Backoff backoff;
  Duration ceiling = milliseconds(50);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Duration wait = backoff.next(i * 0x9e3779b97f4a7c15);
    EXPECT_GE(wait, ceiling / 2);
    EXPECT_LE(wait, ceiling);
    ceiling = std::min<Duration>(2 * ceiling, seconds(5));
  }
}

TEST(Backoff, BeginsAnewAfterASuccess) {
  Backoff backoff;
  for (int i = 0; i < 10; ++i) backoff.next(7);
  backoff.reset();
  EXPECT_LE(backoff.next(~std::uint64_t{0}), milliseconds(50));
}

TEST(Backoff, SpreadsThoseWhoLostTheSamePeerOverTheRange) {
  std::array<int, 4> quarters{};
  for (std::uint64_t i = 0; i < 400; ++i) {
    Backoff backoff(seconds(2));
    const Duration beyond = backoff.next(testing::scramble(i)) - seconds(1);
    ++quarters[std::min<std::size_t>(beyond / milliseconds(250), 3)];
  }
  for (const int count : quarters) EXPECT_GT(count, 70) << "of 100";
}

TEST(Backoff, IsAnotherForEachChance) {
  Backoff one;
  Backoff other;
  int same = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    same += one.next(testing::scramble(i)) == other.next(testing::scramble(i + 10)) ? 1 : 0;
  }
  EXPECT_EQ(same, 0);
}

}  // namespace
}  // namespace muster::net
