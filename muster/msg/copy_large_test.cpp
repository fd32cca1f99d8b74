#include "muster/msg/copy_large.h"

#include <vector>

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

class CopyLarge : public ::testing::TestWithParam<std::size_t> {};

TEST_P(CopyLarge, CopiesEachByteAndNoOther) {
  const std::size_t size = GetParam();
  std::vector<std::byte> from(size);
  for (std::size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i % 251 + 1);
  std::vector<std::byte> to(size + 2);

  copy_large(to.data() + 1, from.data(), size);

  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1));
  EXPECT_EQ(to.front(), std::byte{0});
  EXPECT_EQ(to.back(), std::byte{0});
}

INSTANTIATE_TEST_SUITE_P(Sizes, CopyLarge,
                         ::testing::Values(0, 1, 4096, 8 * kMebi - 1, 8 * kMebi, 8 * kMebi + 1,
                                           9 * kMebi - 7, 12 * kMebi),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::msg
