// Segment: one piece of memory that several processes can map.
//
// Whoever makes it may write; everybody else can only ever map it read-only,
// and nobody can change its size: the kernel holds both for sure, by seals.
// Receivers see the whole segment, so what lies in it is open to all peers
// that were handed its descriptor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "muster/base/result.h"

namespace muster::arena {

// Tells whether two descriptors mean the same memory, however they came.
struct SegmentKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const SegmentKey&, const SegmentKey&) = default;
};

// Any thread, all of it. The memory is unmapped, and the descriptor closed,
// with the last pointer.
class Segment final {
  struct Mapping {
    int descriptor;
    std::byte* base;
    std::size_t size;
    SegmentKey key;
    bool is_writable;
  };

 public:
  // Maps `size` bytes, a multiple of the page size, writable for this process
  // alone. Pages cost nothing until they are touched. Code::overloaded if the
  // system has no descriptor or address space left.
  static Result<std::shared_ptr<Segment>> create(std::size_t size);

  // Maps the first `size` bytes of a peer's segment read-only. Takes
  // `descriptor` over, also when it fails. Code::invalid for anything that
  // could be shrunk while it is mapped, or is shorter: reading it might end
  // this process.
  static Result<std::shared_ptr<Segment>> open(int descriptor, std::size_t size);

  // For create() and open(), which alone can name its argument.
  explicit Segment(const Mapping& mapping);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  // Where to write; empty unless this process made the segment.
  std::span<std::byte> writable() const;

  // Makes the pages of `count` bytes from `offset` on present and writable, all
  // at once. Code::overloaded if there is no memory for them, instead of the
  // signal that touching them would raise. Only for the maker.
  Status populate(std::size_t offset, std::size_t count) const;

  std::span<const std::byte> bytes() const { return {base_, size_}; }
  const std::byte* base() const { return base_; }
  std::size_t size() const { return size_; }
  // To be passed to other processes; stays ours.
  int descriptor() const { return descriptor_; }
  SegmentKey key() const { return key_; }

 private:
  std::byte* base_;
  std::size_t size_;
  int descriptor_;
  bool is_writable_;
  SegmentKey key_;
};

}  // namespace muster::arena

template <>
struct std::hash<muster::arena::SegmentKey> {
  std::size_t operator()(const muster::arena::SegmentKey& key) const noexcept {
    return key.inode ^ (key.device << 32);
  }
};
