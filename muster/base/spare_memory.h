// Memory that a thread lets go and keeps for what it needs next, at the cost of a
// few instructions.

#pragma once

#include <array>
#include <cstddef>

namespace muster {

// In whole pairs of cache lines, which processors fetch together.
inline constexpr std::array<std::size_t, 3> kSpareSizes = {128, 256, 512};

namespace internal {

// Where memory is watched for use after it was let go, none is kept.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::array<int, 3> kMostSpare = {0, 0, 0};
#else
// As many small messages as fit into a link's window.
inline constexpr std::array<int, 3> kMostSpare = {8192, 8192, 8192};
#endif

// One thread's own. Trivial, so that it can be used as long as the thread lives.
struct SpareMemory {
  struct Piece {
    Piece* next;
  };
  struct List {
    Piece* first;
    int count;
  };
  std::array<List, kSpareSizes.size()> lists;
  bool is_watched;  // By one who empties the lists when the thread ends.
  bool is_over;
};
extern constinit thread_local SpareMemory spare_memory;

void* make_spare(std::size_t which);
void keep_spare(void* memory, std::size_t which) noexcept;

}  // namespace internal

// Any thread. Uninitialised memory of kSpareSizes[which] bytes.
inline void* take_spare(std::size_t which) {
  internal::SpareMemory::List& list = internal::spare_memory.lists[which];
  internal::SpareMemory::Piece* const piece = list.first;
  if (piece == nullptr) [[unlikely]]
    return internal::make_spare(which);
  list.first = piece->next;
  --list.count;
  return piece;
}

// Gives back what take_spare(which) has given, on whichever thread.
inline void give_spare(void* memory, std::size_t which) noexcept {
  internal::SpareMemory& spare = internal::spare_memory;
  internal::SpareMemory::List& list = spare.lists[which];
  if (list.count >= internal::kMostSpare[which] || !spare.is_watched) [[unlikely]] {
    return internal::keep_spare(memory, which);
  }
  auto* const piece = static_cast<internal::SpareMemory::Piece*>(memory);
  piece->next = list.first;
  list.first = piece;
  ++list.count;
}

}  // namespace muster
