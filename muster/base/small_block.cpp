#include "muster/base/small_block.h"

#include <new>

namespace muster {
namespace {

class Block final : public BufferOwner {
 public:
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  void reuse() { reset_references(); }

 private:
  void dispose() noexcept override;
};
static_assert(sizeof(Block) + kSmallBlock == 256);

// Blocks that nobody uses lie in a list; a link takes the place of the bytes.
Block*& next_of(Block* block) { return *reinterpret_cast<Block**>(block->bytes()); }

void destroy(Block* block) {
  block->~Block();
  ::operator delete(static_cast<void*>(block));
}

// Where memory is watched for use after it was let go, none is kept.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMostKept = 0;
#else
constexpr int kMostKept = 512;
#endif

// One thread's own. Trivial, so that it can be used as long as the thread lives.
struct Kept {
  Block* first;
  int count;
  bool is_watched;  // By a Cleaner.
  bool is_over;
};
constinit thread_local Kept kept{};

// Empties the list when its thread ends; what is let go later is freed at once.
struct Cleaner {
  Cleaner() { kept.is_watched = true; }
  ~Cleaner() {
    kept.is_over = true;
    while (kept.first != nullptr) {
      Block* const block = kept.first;
      kept.first = next_of(block);
      destroy(block);
    }
    kept.count = 0;
  }
};

void watch_thread() { static thread_local Cleaner cleaner; }

void Block::dispose() noexcept {
  if (kept.count >= kMostKept || kept.is_over) return destroy(this);
  if (!kept.is_watched) watch_thread();
  next_of(this) = kept.first;
  kept.first = this;
  ++kept.count;
}

}  // namespace

WritableBuffer take_small_block(std::size_t size) {
  Block* block = kept.first;
  if (block != nullptr) {
    kept.first = next_of(block);
    --kept.count;
    block->reuse();
  } else {
    block = ::new (::operator new(256)) Block;
  }
  return {std::span(block->bytes(), size), block};
}

}  // namespace muster
