// The records of the frames that matter most: a few parts, all inside, and small.
//
// The same bytes as record.h's, but inline and without plans. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "muster/base/copy_bytes.h"
#include "muster/drivers/shm/record.h"
#include "muster/drivers/shm/ring.h"
#include "muster/net/driver.h"
#include "muster/net/driver_limits.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::shm {

inline constexpr std::size_t kSmallParts = 4;
// Shorter ones are read as any other, so that the loop below needs no check.
inline constexpr std::size_t kSmallestRecord = kRecordFixed + kRecordPlan * kSmallParts;

// How many bytes of record body it takes; 0 if it is none of those.
inline std::size_t small_record_size(const wire::Frame& frame) {
  if (frame.parts.size() > kSmallParts) return 0;
  std::size_t size = kRecordFixed + kRecordPlan * frame.parts.size() + aligned(frame.head.size());
  for (const Buffer& part : frame.parts) {
    if (part.size() >= net::kReferenceFrom) return 0;
    size += aligned(part.size());
  }
  return size;
}

// Writes it into `out`, which has room.
inline void write_small_record(const wire::Frame& frame, std::byte* out) {
  static_assert(static_cast<int>(How::inside) == 0, "a plan is then the size alone");
  const auto head_size = static_cast<std::uint32_t>(frame.head.size());
  const auto part_count = static_cast<std::uint32_t>(frame.parts.size());
  wire::store<std::uint64_t>(out, head_size | part_count << 16);
  out += kRecordFixed;
  for (const Buffer& part : frame.parts) {
    wire::store<std::uint64_t>(out, part.size());
    out += kRecordPlan;
  }
  frame.head.copy_to(out);
  out += aligned(head_size);
  for (const Buffer& part : frame.parts) {
    copy_bytes(out, part.data(), part.size());
    out += aligned(part.size());
  }
}

// Reads the head and the parts' sizes, and gives where the first part begins. 0 if
// the record is not of this kind, or not well formed.
inline std::size_t read_small_record(std::span<const std::byte> body, wire::Head& head,
                                     std::span<std::uint32_t, kSmallParts> sizes,
                                     std::size_t& count) {
  if (body.size() < kSmallestRecord) return 0;
  const auto head_size = wire::load<std::uint16_t>(body.data());
  const auto part_count = wire::load<std::uint16_t>(body.data() + 2);
  if (head_size > wire::kMaxHead || part_count > kSmallParts) return 0;
  std::uint64_t inside = 0;
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto size = wire::load<std::uint64_t>(body.data() + kRecordFixed + kRecordPlan * i);
    if (size >= net::kLargePart) return 0;  // Or anything but inside.
    sizes[i] = static_cast<std::uint32_t>(size);
    inside += aligned(size);
  }
  const std::size_t at = kRecordFixed + kRecordPlan * part_count + aligned(head_size);
  if (at + inside != body.size()) return 0;
  head.assign(body.subspan(kRecordFixed + kRecordPlan * part_count, head_size));
  count = part_count;
  return at;
}

}  // namespace muster::drivers::shm
