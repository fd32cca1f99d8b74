#include "muster/arena/buddy.h"

#include <algorithm>
#include <bit>

#include "muster/base/check.h"

namespace muster::arena {
namespace {

constexpr std::size_t kWordBits = 64;

}  // namespace

Buddy::Buddy(int top_order)
    : top_order_(top_order), free_(static_cast<std::size_t>(top_order) + 1) {
  for (int order = 0; order <= top_order; ++order) {
    const std::size_t blocks = std::size_t{1} << (top_order - order);
    free_[order].words.resize((blocks + kWordBits - 1) / kWordBits);
  }
  insert(top_order, 0);
}

std::optional<std::uint32_t> Buddy::take(int order) {
  if (order > top_order_ || !has(order)) return std::nullopt;
  int from = order + std::countr_zero(free_orders_ >> order);
  std::uint32_t block = first_free(from);
  erase(from, block);
  while (from > order) {  // Keep the first half, leave the second.
    --from;
    block *= 2;
    insert(from, block + 1);
  }
  return block << order;
}

void Buddy::give(std::uint32_t unit, int order) {
  std::uint32_t block = unit >> order;
  MUSTER_CHECK(!is_free(order, block), "a block is given back once");
  while (order < top_order_ && is_free(order, block ^ 1)) {
    erase(order, block ^ 1);
    block /= 2;
    ++order;
  }
  insert(order, block);
}

bool Buddy::is_free(int order, std::uint32_t block) const {
  return (free_[order].words[block / kWordBits] >> (block % kWordBits) & 1) != 0;
}

void Buddy::insert(int order, std::uint32_t block) {
  FreeSet& set = free_[order];
  set.words[block / kWordBits] |= std::uint64_t{1} << (block % kWordBits);
  set.first = std::min<std::size_t>(set.first, block / kWordBits);
  ++set.count;
  free_orders_ |= std::uint64_t{1} << order;
}

void Buddy::erase(int order, std::uint32_t block) {
  FreeSet& set = free_[order];
  set.words[block / kWordBits] &= ~(std::uint64_t{1} << (block % kWordBits));
  if (--set.count == 0) free_orders_ &= ~(std::uint64_t{1} << order);
}

std::uint32_t Buddy::first_free(int order) {
  FreeSet& set = free_[order];
  while (set.words[set.first] == 0) ++set.first;
  const int bit = std::countr_zero(set.words[set.first]);
  return static_cast<std::uint32_t>(set.first * kWordBits + static_cast<std::size_t>(bit));
}

}  // namespace muster::arena
