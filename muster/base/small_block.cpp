#include "muster/base/small_block.h"

#include <cstdint>
#include <new>

namespace muster {
namespace {

// Two sizes, with what stands before the bytes: two lines, or four.
constexpr std::size_t kWhole[] = {128, 256};

class Block final : public BufferOwner {
 public:
  explicit Block(std::uint32_t size_class) : size_class_(size_class) {}
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  void reuse() { reset_references(); }

 private:
  void dispose() noexcept override;

  std::uint32_t size_class_;  // Of kWhole.
};
static_assert(sizeof(Block) == 16 && sizeof(Block) + kSmallBlock == kWhole[1]);

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
constexpr int kMostKept = 8192;  // As many small messages as fit into a link's window.
#endif

// One thread's own. Trivial, so that it can be used as long as the thread lives.
struct Kept {
  struct {
    Block* first;
    int count;
  } lists[2];
  bool is_watched;  // By a Cleaner.
  bool is_over;
};
constinit thread_local Kept kept{};

// Empties the list when its thread ends; what is let go later is freed at once.
struct Cleaner {
  Cleaner() { kept.is_watched = true; }
  ~Cleaner() {
    kept.is_over = true;
    for (auto& list : kept.lists) {
      while (list.first != nullptr) {
        Block* const block = list.first;
        list.first = next_of(block);
        destroy(block);
      }
    }
  }
};

void watch_thread() { static thread_local Cleaner cleaner; }

void Block::dispose() noexcept {
  auto& list = kept.lists[size_class_];
  if (list.count >= kMostKept || kept.is_over) return destroy(this);
  if (!kept.is_watched) watch_thread();
  next_of(this) = list.first;
  list.first = this;
  ++list.count;
}

}  // namespace

WritableBuffer take_small_block(std::size_t size) {
  const std::uint32_t size_class = size + sizeof(Block) > kWhole[0];
  auto& list = kept.lists[size_class];
  Block* block = list.first;
  if (block != nullptr) {
    list.first = next_of(block);
    --list.count;
    block->reuse();
  } else {
    block = ::new (::operator new(kWhole[size_class])) Block(size_class);
  }
  return {std::span(block->bytes(), size), block};
}

}  // namespace muster
