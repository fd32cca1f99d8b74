// Memory for small bodies, at the cost of a few instructions.
//
// Most messages are small, and each needs memory twice: where it is made and
// where it is received. What a thread lets go it keeps for its next ones.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "muster/base/buffer.h"
#include "muster/base/spare_memory.h"

namespace muster {

inline constexpr std::size_t kSmallBlock = 240;

namespace internal {

// What stands before the bytes.
class SmallBlock final : public BufferOwner {
 public:
  explicit SmallBlock(std::uint32_t which) : which_(which) {}
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }

 private:
  void dispose() noexcept override;

  std::uint32_t which_;  // Of kSpareSizes.
};
static_assert(sizeof(SmallBlock) == 16 && sizeof(SmallBlock) + kSmallBlock == kSpareSizes[1]);

}  // namespace internal

// Any thread. Uninitialised memory of `size` bytes, at most kSmallBlock; it may
// be let go on any other.
inline WritableBuffer take_small_block(std::size_t size) {
  const std::uint32_t which = size + sizeof(internal::SmallBlock) > kSpareSizes[0];
  auto* const block = ::new (take_spare(which)) internal::SmallBlock(which);
  return {std::span(block->bytes(), size), block};
}

}  // namespace muster
