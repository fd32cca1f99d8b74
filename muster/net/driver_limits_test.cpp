#include "muster/net/driver_limits.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/complaints.h"
#include "muster/net/testing/pattern.h"

namespace muster::net {
namespace {

using testing::make_frame;
using testing::Shape;

TEST(DriverLimits, AFrameMayBeJustAsLargeAsItMayBe) {
  EXPECT_TRUE(check_size(make_frame(Shape{0, {60, 40}}, 1), 100));
  EXPECT_TRUE(check_size(make_frame(Shape{0, std::vector<std::size_t>(wire::kMaxParts, 1)}, 1),
                         wire::kMaxParts));
}

TEST(DriverLimits, AByteOrAPartTooManyIsRefusedWithBothLimits) {
  const wire::Frame long_one = make_frame(Shape{0, {60, 41}}, 1);
  const wire::Frame wide_one =
      make_frame(Shape{0, std::vector<std::size_t>(wire::kMaxParts + 1, 0)}, 1);
  for (const wire::Frame* frame : {&long_one, &wide_one}) {
    const Status checked = check_size(*frame, 100);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code(), Code::invalid);
    EXPECT_NE(checked.error().message().find("at most 100 in 1024"), std::string::npos)
        << checked.error().message();
  }
}

TEST(DriverLimits, MemoryIsGivenOrRefused) {
  BufferPool pool;
  const auto some = allocate_from(pool, 1000);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 1000U);
  EXPECT_TRUE(allocate_from(pool, 0));
  const auto vast = allocate_from(pool, std::size_t{1} << 50);
  ASSERT_FALSE(vast);
  EXPECT_EQ(vast.error().code(), Code::overloaded);
}

TEST(Complaints, OneLineASecondTellsOfThoseHeldBack) {
  std::vector<std::string> lines;
  log::to(log::Level::warning,
          [&](log::Level, std::string_view line) { lines.emplace_back(line); });
  Complaints complaints("tcp");
  const TimePoint start{std::chrono::seconds(10)};

  complaints.warn(start, "stranger refused", "why a");
  complaints.warn(start + std::chrono::milliseconds(999), "stranger refused", "why b");
  complaints.warn(start + std::chrono::milliseconds(1000), "stranger refused", "why c");

  log::to(log::Level::off, nullptr);
  EXPECT_EQ(lines, (std::vector<std::string>{"tcp stranger refused  why a  others 0",
                                             "tcp stranger refused  why c  others 1"}));
}

}  // namespace
}  // namespace muster::net
