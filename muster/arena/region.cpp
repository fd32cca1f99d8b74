#include "muster/arena/region.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster::arena {
namespace {

constexpr std::size_t kTouchedBits = 64;

int order_of(std::size_t size, std::size_t smallest) {
  return std::countr_zero(size) - std::countr_zero(smallest);
}

}  // namespace

Region::Region(std::shared_ptr<Segment> segment, std::size_t smallest)
    : segment_(std::move(segment)),
      smallest_(smallest),
      buddy_(order_of(segment_->size(), smallest)),
      touched_bits_((segment_->size() / kPage + kTouchedBits - 1) / kTouchedBits) {}

std::optional<std::size_t> Region::take(std::size_t size) {
  if (size < smallest_ || size > segment_->size()) return std::nullopt;
  const std::optional<std::uint32_t> unit = buddy_.take(order_of(size, smallest_));
  if (!unit) return std::nullopt;
  return *unit * smallest_;
}

void Region::give(std::size_t offset, std::size_t size) {
  buddy_.give(static_cast<std::uint32_t>(offset / smallest_), order_of(size, smallest_));
}

std::size_t Region::touched_from(std::size_t offset, std::size_t count) const {
  const std::size_t first = offset / kPage;
  const std::size_t end = (offset + count + kPage - 1) / kPage;
  std::size_t page = first;
  while (page < end) {
    const std::uint64_t bits = touched_bits_[page / kTouchedBits] >> (page % kTouchedBits);
    const std::size_t in_word = kTouchedBits - page % kTouchedBits;
    const auto run = static_cast<std::size_t>(std::countr_one(bits));
    page += std::min(run, in_word);
    if (run < in_word) break;
  }
  return std::min((std::min(page, end) - first) * kPage, count);
}

void Region::mark_touched(std::size_t offset, std::size_t count) {
  const std::size_t end = (offset + count + kPage - 1) / kPage;
  for (std::size_t page = offset / kPage; page < end;) {
    const std::size_t bits = std::min(end - page, kTouchedBits - page % kTouchedBits);
    const std::uint64_t mask = (~std::uint64_t{0} >> (kTouchedBits - bits))
                               << (page % kTouchedBits);
    std::uint64_t& word = touched_bits_[page / kTouchedBits];
    touched_pages_ += static_cast<std::size_t>(std::popcount(mask & ~word));
    word |= mask;
    page += bits;
  }
}

}  // namespace muster::arena
