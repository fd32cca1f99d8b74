#include "muster/msg/share.h"

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

constexpr std::size_t kMost = 500;

TEST(Share, IsExactWhereTheFractionIs) {
  for (std::size_t count = 1; count <= kMost; ++count) {
    for (std::size_t part = 0; part <= count; ++part) {
      const double fraction = static_cast<double>(part) / static_cast<double>(count);
      ASSERT_EQ(share_of(fraction, count), part) << part << " of " << count;
    }
  }
}

TEST(Share, OfPercentIsThatOfWholeNumbersRoundedUp) {
  for (std::size_t count = 0; count <= kMost; ++count) {
    for (std::size_t percent = 0; percent <= 100; ++percent) {
      const std::size_t exact = (count * percent + 99) / 100;
      ASSERT_EQ(share_of(static_cast<double>(percent) / 100, count), exact)
          << percent << "% of " << count;
      ASSERT_EQ(share_of(1 - static_cast<double>(100 - percent) / 100, count), exact)
          << "all but " << 100 - percent << "% of " << count;
    }
  }
}

TEST(Share, RoundsUpWhatIsMoreThanAWholeNumber) {
  for (std::size_t count = 2; count <= kMost; ++count) {
    for (std::size_t part = 0; part < count; ++part) {
      const double fraction = (static_cast<double>(part) + 1e-6) / static_cast<double>(count);
      ASSERT_EQ(share_of(fraction, count), part + 1) << "just above " << part << " of " << count;
    }
  }
  EXPECT_EQ(share_of(7.5, 10), 10U) << "never more than all";
}

}  // namespace
}  // namespace muster::msg
