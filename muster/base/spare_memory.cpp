#include "muster/base/spare_memory.h"

#include <new>

namespace muster::internal {

constinit thread_local SpareMemory spare_memory{};

namespace {

// Empties the lists when its thread ends; what is let go later is freed at once.
struct Cleaner {
  Cleaner() { spare_memory.is_watched = true; }
  ~Cleaner() {
    spare_memory.is_over = true;
    spare_memory.is_watched = false;
    for (SpareMemory::List& list : spare_memory.lists) {
      while (list.first != nullptr) {
        SpareMemory::Piece* const piece = list.first;
        list.first = piece->next;
        ::operator delete(static_cast<void*>(piece));
      }
    }
  }
};

void watch_thread() { static thread_local Cleaner cleaner; }

}  // namespace

void* make_spare(std::size_t which) { return ::operator new(kSpareSizes[which]); }

// The first of its thread, or one that is not kept.
void keep_spare(void* memory, std::size_t which) noexcept {
  if (spare_memory.is_over || spare_memory.lists[which].count >= kMostSpare[which]) {
    return ::operator delete(memory);
  }
  watch_thread();
  give_spare(memory, which);
}

}  // namespace muster::internal
