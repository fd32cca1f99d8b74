// Buddy: which parts of a piece of memory are free.
//
// Pure. Blocks are powers of two of a smallest unit, and a block that is given
// back is joined at once with its free neighbour of the same size. Of several
// blocks that would do, the smallest is taken, and of those the first, so that
// what was used before is used again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster::arena {

class Buddy {
 public:
  // Units are numbered from 0 to 2^top_order - 1; all are free.
  explicit Buddy(int top_order);

  // The first unit of a free block of 2^order units, which is then taken.
  std::optional<std::uint32_t> take(int order);

  // Gives such a block back, whole.
  void give(std::uint32_t unit, int order);

  // True if take(order) would give something.
  bool has(int order) const { return free_orders_ >> order != 0; }
  bool is_all_free() const { return free_orders_ == std::uint64_t{1} << top_order_; }

 private:
  // The free blocks of one order, a bit each, lowest unit first.
  struct FreeSet {
    std::vector<std::uint64_t> words;
    std::size_t count = 0;
    std::size_t first = 0;  // No word before this one has a bit.
  };

  bool is_free(int order, std::uint32_t block) const;
  void insert(int order, std::uint32_t block);
  void erase(int order, std::uint32_t block);
  std::uint32_t first_free(int order);

  int top_order_;
  std::uint64_t free_orders_ = 0;  // A bit for each order with a free block.
  std::vector<FreeSet> free_;      // By order.
};

}  // namespace muster::arena
