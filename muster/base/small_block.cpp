#include "muster/base/small_block.h"

#include <cstdint>
#include <new>

#include "muster/base/spare_memory.h"

namespace muster {
namespace {

// What stands before the bytes.
class Block final : public BufferOwner {
 public:
  explicit Block(std::uint32_t which) : which_(which) {}
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }

 private:
  void dispose() noexcept override {
    const std::uint32_t which = which_;
    this->~Block();
    give_spare(this, which);
  }

  std::uint32_t which_;  // Of kSpareSizes.
};
static_assert(sizeof(Block) == 16 && sizeof(Block) + kSmallBlock == kSpareSizes[1]);

}  // namespace

WritableBuffer take_small_block(std::size_t size) {
  const std::uint32_t which = size + sizeof(Block) > kSpareSizes[0];
  auto* const block = ::new (take_spare(which)) Block(which);
  return {std::span(block->bytes(), size), block};
}

}  // namespace muster
