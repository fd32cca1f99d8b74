#include "muster/base/error.h"

#include <gtest/gtest.h>

#include "muster/base/id.h"
#include "muster/base/log.h"
#include "muster/base/result.h"

namespace muster {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error(Code::invalid, "odd");
  return number / 2;
}

Result<int> quarter(int number) {
  MUSTER_TRY(const int once, half(number));
  return half(once);
}

TEST(Error, ReadsAsAttemptThenCause) {
  const Error error = Error(Code::unavailable, "connection refused").during("dial tcp://h:1");
  EXPECT_EQ(error.message(), "dial tcp://h:1: connection refused");
  EXPECT_EQ(error.describe(), "unavailable: dial tcp://h:1: connection refused");
}

TEST(Error, CodesKeepTheirNumbersOnTheWire) {
  EXPECT_EQ(static_cast<int>(Code::invalid), 1);
  EXPECT_EQ(static_cast<int>(Code::internal), 9);
  EXPECT_EQ(name(static_cast<Code>(77)), "unknown");
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error(), Error(Code::invalid, "odd"));
}

TEST(Id, IsRandomAndPrintsAsHex) {
  EXPECT_NE(Id::random(), Id::random());
  EXPECT_EQ((Id{1, 255}).to_string(), "000000000000000100000000000000ff");
  EXPECT_FALSE(Id{});
}

TEST(Log, IsSilentUntilToldWhere) {
  EXPECT_FALSE(log::wants(log::Level::error));
  std::string seen;
  log::to(log::Level::warning, [&](log::Level, std::string_view line) { seen += line; });
  log::warning("worker lost  name w3");
  log::info("not this one");
  log::to(log::Level::off, nullptr);
  log::warning("nor this one");
  EXPECT_EQ(seen, "worker lost  name w3");
}

TEST(RateLimit, LetsOneThroughPerPeriodAndCountsTheRest) {
  log::RateLimit limit;
  EXPECT_EQ(limit.admit(0), 0);
  EXPECT_LT(limit.admit(10), 0);
  EXPECT_LT(limit.admit(999), 0);
  EXPECT_EQ(limit.admit(1000), 2);
}

TEST(RateLimit, IsNotHeldUpByAClockThatIsSetBack) {
  log::RateLimit limit;
  EXPECT_EQ(limit.admit(1'000'000), 0);
  EXPECT_LT(limit.admit(1'000'001), 0);
  EXPECT_EQ(limit.admit(5000), 1);
  EXPECT_LT(limit.admit(5999), 0);
}

}  // namespace
}  // namespace muster
