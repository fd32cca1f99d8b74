// A frame as UCX carries it: one record, then each large part by itself.
//
// The record says whom it is for, and holds the number and sizes of the parts, the
// head, and the small parts. A large part bears a header beside it. Pure; nothing
// the peer says is believed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muster/base/result.h"
#include "muster/net/driver.h"
#include "muster/wire/bytes.h"
#include "muster/wire/frame.h"

namespace muster::drivers::ucx {

// Beside every large part.
struct MessageHeader {
  std::uint64_t key = 0;       // Whom it is for.
  std::uint32_t sequence = 0;  // Of the frame, from 0 on.
  std::uint32_t part = 0;
};
static_assert(sizeof(MessageHeader) == 16);

// The most bytes of parts in one frame.
inline constexpr std::size_t kMostBody = std::size_t{8} << 20;

inline bool travels_alone(std::uint64_t part_size) { return part_size >= net::kLargePart; }

// What a record begins with: all that decides about it lies in the first cache line
// that arrives.
struct RecordPrefix {
  std::uint64_t key = 0;       // Whom it is for.
  std::uint32_t sequence = 0;  // Of the frame, from 0 on.
  std::uint16_t parts = 0;
  std::uint16_t head = 0;  // Its size.
};
static_assert(sizeof(RecordPrefix) == 16);

// How many bytes the record of `frame` takes.
std::size_t record_size(const wire::Frame& frame);

// Writes it to `out`, which has room.
void write_record(const wire::Frame& frame, std::uint64_t key, std::uint32_t sequence,
                  std::byte* out);

// The same if all of the frame fits into a short record. Gives its size, else 0.
inline constexpr std::size_t kShortRecord = 256;
std::size_t write_short_record(const wire::Frame& frame, std::uint64_t key, std::uint32_t sequence,
                               std::span<std::byte, kShortRecord> out);

// Whom `bytes` are for, if they are a record.
inline std::uint64_t record_key(std::span<const std::byte> bytes) {
  return bytes.size() < sizeof(RecordPrefix) ? 0 : wire::load<std::uint64_t>(bytes.data());
}

struct ReadRecord {
  std::uint32_t sequence = 0;
  std::span<const std::byte> head;
  std::vector<std::uint64_t> sizes;  // Of all parts.
  std::span<const std::byte> small;  // The small parts, one after the other.
  std::uint64_t large = 0;           // Bytes of those that travel alone.
};

// Code::invalid unless `bytes` are exactly one record. `into` is reused.
Status read_record(std::span<const std::byte> bytes, ReadRecord& into);

// A record of one part that is not large.
struct ReadShortRecord {
  std::uint32_t sequence = 0;
  std::span<const std::byte> head;
  std::span<const std::byte> part;
};

// False unless `bytes` are exactly such a record; read_record() may then know them.
bool read_short_record(std::span<const std::byte> bytes, ReadShortRecord& into);

// Where part after part starts among the small ones: each on a boundary of 8.
inline std::size_t padded(std::size_t size) { return (size + 7) & ~std::size_t{7}; }

}  // namespace muster::drivers::ucx
