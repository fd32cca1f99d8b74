// A frame as UCX carries it: one record, then each large part by itself.
//
// The record holds the number and sizes of the parts, the head, and the small
// parts. Each message bears a header beside it. Pure; nothing the peer says is
// believed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muster/base/result.h"
#include "muster/net/driver.h"
#include "muster/wire/frame.h"

namespace muster::drivers::ucx {

// Beside every message.
struct MessageHeader {
  std::uint64_t key = 0;       // Whom it is for.
  std::uint32_t sequence = 0;  // Of the frame, from 0 on.
  std::uint32_t part = 0;      // Of a large part, else 0.
};
static_assert(sizeof(MessageHeader) == 16);

// The most bytes of parts in one frame.
inline constexpr std::size_t kMostBody = std::size_t{8} << 20;

inline bool travels_alone(std::uint64_t part_size) { return part_size >= net::kLargePart; }

// How many bytes the record of `frame` takes.
std::size_t record_size(const wire::Frame& frame);

// Writes it to `out`, which has room.
void write_record(const wire::Frame& frame, std::byte* out);

struct ReadRecord {
  wire::Head head;
  std::vector<std::uint64_t> sizes;  // Of all parts.
  std::span<const std::byte> small;  // The small parts, one after the other.
  std::uint64_t large = 0;           // Bytes of those that travel alone.
};

// Code::invalid unless `bytes` are exactly one record. `into` is reused.
Status read_record(std::span<const std::byte> bytes, ReadRecord& into);

// Where part after part starts among the small ones: each on a boundary of 8.
inline std::size_t padded(std::size_t size) { return (size + 7) & ~std::size_t{7}; }

}  // namespace muster::drivers::ucx
