#include "muster/base/copy_bytes.h"

#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CopyBytes, CopiesJustTheBytesOfEverySize) {
  std::vector<std::byte> from(400);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t size = 0; size <= 300; ++size) {
    for (std::size_t shift = 0; shift < 3; ++shift) {
      std::vector<std::byte> to(400);
      copy_bytes(to.data() + shift, from.data() + 2 * shift, size);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool is_copied = i >= shift && i < shift + size;
        ASSERT_EQ(to[i], is_copied ? from[i + shift] : std::byte{}) << size << ' ' << i;
      }
    }
  }
}

TEST(CopyBytes, MayBeGivenNothingAtNoAddress) { copy_bytes(nullptr, nullptr, 0); }

}  // namespace
}  // namespace muster
