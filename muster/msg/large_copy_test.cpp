#include "muster/msg/large_copy.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

TEST(LargeCopy, CopiesEveryByteAndNoMore) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, 3 * kMiB, 8 * kMiB, 9 * kMiB + 7}) {
    std::vector<std::byte> from(size);
    for (std::size_t i = 0; i < size; i += 61) from[i] = static_cast<std::byte>(i * 7 + i / kMiB);
    std::vector<std::byte> to(size + 1, std::byte{0xEE});
    copy_large(from, to.data());
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin())) << size;
    EXPECT_EQ(to.back(), std::byte{0xEE}) << size;
  }
}

}  // namespace
}  // namespace muster::msg
