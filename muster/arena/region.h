// Region: a segment of ours, what is free in it, and what was touched.
//
// Not for several threads at once: the pool's lock guards it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "muster/arena/buddy.h"
#include "muster/arena/segment.h"

namespace muster::arena {

class Region {
 public:
  // Serves blocks from `smallest` bytes up to the whole segment; both are
  // powers of two.
  Region(std::shared_ptr<Segment> segment, std::size_t smallest);

  // The offset of a free block of `size` bytes, a power of two.
  std::optional<std::size_t> take(std::size_t size);
  void give(std::size_t offset, std::size_t size);

  // How many bytes from `offset` on, up to `count`, lie in touched pages.
  std::size_t touched_from(std::size_t offset, std::size_t count) const;
  // Notes that the pages of these bytes have been touched.
  void mark_touched(std::size_t offset, std::size_t count);

  const std::shared_ptr<Segment>& segment() const { return segment_; }
  std::size_t smallest() const { return smallest_; }
  std::size_t touched() const { return touched_pages_ * kPage; }

  std::size_t blocks_in_use = 0;
  std::uint64_t idle_since = 0;  // In the pool's count of releases.

 private:
  static constexpr std::size_t kPage = 4096;

  std::shared_ptr<Segment> segment_;
  std::size_t smallest_;
  Buddy buddy_;
  std::vector<std::uint64_t> touched_bits_;  // By page.
  std::size_t touched_pages_ = 0;
};

}  // namespace muster::arena
