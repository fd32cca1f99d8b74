#include "muster/net/backoff.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::net
