// Batch: small frames that are gathered in private memory, to go through the ring
// as one record.
//
// What is shown to a reader one by one costs a trip of a cache line each; what is
// copied together costs one for many. docs/reference/wire.md has the bytes. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "muster/drivers/shm/small_record.h"
#include "muster/wire/brief_frame.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::shm {

class Batch {
 public:
  // So much that the ring's trips hardly count, and so little that a reader begins
  // while the writer still gathers.
  static constexpr std::size_t kCapacity = std::size_t{8} << 10;

  // True if a frame fits whose record has a body of `size` bytes.
  bool fits(std::size_t size) const { return size_ + kEntry + size <= kCapacity; }
  // Takes such a frame, which fits, and its parts.
  void add(wire::Frame& frame, std::size_t size) {
    if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<std::byte[]>(kCapacity);
    std::byte* const out = memory_.get() + size_;
    wire::store<std::uint64_t>(out, size);
    write_small_record(frame, out + kEntry);
    size_ += kEntry + size;
    remember(frame.head, size);
    frame.parts.clear();
  }
  // Copies a frame of `head` and one part, if it fits and can be a brief one, which is
  // tried first. False: nothing has happened.
  bool add_brief(std::span<const std::byte> head, std::span<const std::byte> part) {
    if (size_ == 0 || part.empty() || part.size() >= net::kReferenceFrom) return false;
    if (size_ + kEntry + wire::kMaxHead + aligned(part.size()) > kCapacity) return false;
    const std::size_t used = wire::write_brief_frame(head, part, before_, memory_.get() + size_);
    if (used == 0) return false;
    size_ += aligned(used);
    return true;
  }
  void clear() { size_ = 0; }

  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

  // Takes the next frame off the front of `rest`, if it is a brief one, into `frame`,
  // which has no parts. `before` is the head of the frame before, and becomes this one's.
  // False if it is none of those, or not whole, or there is no memory: then nothing has
  // happened.
  static bool take_brief(std::span<const std::byte>& rest, BufferPool& pool, wire::Head& before,
                         wire::Frame& frame) {
    if (rest.size() < kEntry || rest.size() % kRecordAlign != 0) return false;
    if (!wire::is_brief(wire::load<std::uint64_t>(rest.data()))) return false;
    const std::size_t used = wire::read_brief_frame(rest, net::kReferenceFrom, pool, before, frame);
    if (used == 0) return false;
    rest = rest.subspan(aligned(used));
    return true;
  }

  // Takes the record of the next frame, which is not a brief one, off the front of `rest`.
  // Empty if there is none, or what no honest writer leaves. Both may read shared memory.
  static std::span<const std::byte> take(std::span<const std::byte>& rest) {
    if (rest.size() < kEntry) return {};
    const auto size = wire::load<std::uint64_t>(rest.data());
    if (size > rest.size() - kEntry || size % kRecordAlign != 0) return {};
    const std::span<const std::byte> body = rest.subspan(kEntry, size);
    rest = rest.subspan(kEntry + size);
    return body;
  }

 private:
  static constexpr std::size_t kEntry = 8;  // The size, before each that is not brief.

  // What is read in another way is not remembered there.
  void remember(const wire::Head& head, std::size_t size) {
    before_.assign(size < kSmallestRecord ? std::span<const std::byte>() : head.bytes());
  }

  wire::Head before_;                    // Of the frame that was taken last.
  std::unique_ptr<std::byte[]> memory_;  // Once there was something to gather.
  std::size_t size_ = 0;
};

}  // namespace muster::drivers::shm
