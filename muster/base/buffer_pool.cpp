#include "muster/base/buffer_pool.h"

#include <array>
#include <atomic>
#include <bit>
#include <new>

#include <sys/mman.h>

namespace muster {
namespace {

// Classes are powers of two and, above 1 MiB, quarters between them, so that a
// large body wastes at most a fifth.
constexpr std::size_t kSmallest = 128;
constexpr std::size_t kMapped = std::size_t{1} << 20;  // From here on whole pages from the kernel.
constexpr int kClasses = 160;
constexpr std::size_t kHeader = 64;

int class_of(std::size_t size) {
  if (size <= kSmallest) return 0;
  const int power = std::bit_width(size - 1);  // size <= 1 << power
  if (size <= kMapped) return power - 7;
  const std::size_t step = std::size_t{1} << (power - 3);
  const std::size_t base = std::size_t{1} << (power - 1);
  const int quarter = static_cast<int>((size - base + step - 1) / step);  // 1..4
  return 13 + (power - 21) * 4 + quarter;
}

std::size_t size_of(int index) {
  if (index <= 13) return kSmallest << index;
  const int power = (index - 14) / 4 + 20;
  const std::size_t quarter = (index - 14) % 4 + 1;
  return (std::size_t{1} << power) + (quarter << (power - 2));
}

}  // namespace

// What blocks and pool have in common, alive until the last block is gone.
struct BufferPool::Shared {
  // Blocks that were let go, newest first; kClosed once the pool is gone.
  std::atomic<Block*> returned{nullptr};
  std::atomic<std::size_t> live{1};  // Blocks, and one for the pool.
  std::array<Block*, kClasses> idle{};
  std::size_t idle_bytes = 0;
  std::size_t idle_limit = 0;

  void sort_returned();
  void drop_reference() {
    if (live.fetch_sub(1, std::memory_order_acq_rel) == 1) std::default_delete<Shared>()(this);
  }
};

class BufferPool::Block final : public BufferOwner {
 public:
  static Block* make(Shared& shared, int index) {
    void* memory = nullptr;
    const std::size_t whole = kHeader + size_of(index);
    if (size_of(index) <= kMapped) {
      memory = ::operator new(whole, std::align_val_t{64}, std::nothrow);
    } else {
      memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) memory = nullptr;
      // Fewer faults where the system allows huge pages; no harm where not.
      if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);
    }
    if (memory == nullptr) return nullptr;
    shared.live.fetch_add(1, std::memory_order_relaxed);
    return ::new (memory) Block(shared, index);
  }
  void destroy() {
    Shared* shared = shared_;
    const int index = index_;
    this->~Block();
    if (size_of(index) <= kMapped) {
      ::operator delete(static_cast<void*>(this), std::align_val_t{64});
    } else {
      munmap(static_cast<void*>(this), kHeader + size_of(index));
    }
    shared->drop_reference();
  }

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this) + kHeader; }
  void reuse() { reset_references(); }
  int index() const { return index_; }

  // Marks the list of a pool that is gone.
  static Block* closed() {
    static std::byte mark;
    return reinterpret_cast<Block*>(&mark);
  }

  Block* next = nullptr;

 private:
  Block(Shared& shared, int index) : shared_(&shared), index_(index) {}

  void dispose() noexcept override {
    Block* head = shared_->returned.load(std::memory_order_relaxed);
    do {
      if (head == closed()) return destroy();
      next = head;
    } while (!shared_->returned.compare_exchange_weak(head, this, std::memory_order_release,
                                                      std::memory_order_relaxed));
  }

  Shared* shared_;
  int index_;
};

void BufferPool::Shared::sort_returned() {
  Block* block = returned.exchange(nullptr, std::memory_order_acquire);
  while (block != nullptr) {
    Block* const after = block->next;
    const std::size_t size = size_of(block->index());
    if (idle_bytes + size > idle_limit) {
      block->destroy();
    } else {
      idle_bytes += size;
      block->next = idle[block->index()];
      idle[block->index()] = block;
    }
    block = after;
  }
}

BufferPool::BufferPool(std::size_t idle_limit) : shared_(std::make_unique<Shared>().release()) {
  shared_->idle_limit = idle_limit;
}

BufferPool::~BufferPool() {
  shared_->sort_returned();
  Block* late = shared_->returned.exchange(Block::closed(), std::memory_order_acq_rel);
  const auto destroy_all = [](Block* block) {
    while (block != nullptr) {
      Block* const after = block->next;
      block->destroy();
      block = after;
    }
  };
  destroy_all(late);
  for (Block* list : shared_->idle) destroy_all(list);
  shared_->drop_reference();
}

WritableBuffer BufferPool::take_large(std::size_t size) {
  const int index = class_of(size);
  if (index >= kClasses) return {};
  Shared& shared = *shared_;
  if (shared.idle[index] == nullptr) shared.sort_returned();
  Block* block = shared.idle[index];
  if (block != nullptr) {
    shared.idle[index] = block->next;
    shared.idle_bytes -= size_of(index);
    block->reuse();
  } else {
    block = Block::make(shared, index);
    if (block == nullptr) return {};
  }
  return {std::span(block->bytes(), size), block};
}

std::size_t BufferPool::idle() const {
  shared_->sort_returned();
  return shared_->idle_bytes;
}

}  // namespace muster
