// The frames that matter most: one small part, and all of it lies side by side.
//
// The same bytes as frame.h's, read and written in one step. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "muster/base/buffer_pool.h"
#include "muster/base/copy_bytes.h"
#include "muster/wire/bytes.h"
#include "muster/wire/frame.h"

namespace muster::wire {

// True if it is one of those, with a part of less than `limit` bytes.
inline bool is_small_frame(const Frame& frame, std::size_t limit) {
  return frame.parts.size() == 1 && !frame.parts[0].empty() && frame.parts[0].size() < limit;
}

// Writes it to `out`, which has room for it: prefix_size(1), head and part.
inline void write_small_frame(std::span<const std::byte> head, std::span<const std::byte> part,
                              std::byte* out) {
  store<std::uint64_t>(out,
                       kFrameMagic | std::uint64_t{head.size()} << 16 | std::uint64_t{1} << 32);
  store<std::uint64_t>(out + kPrefixSize, part.size());
  out += prefix_size(1);
  copy_bytes(out, head.data(), head.size());
  copy_bytes(out + head.size(), part.data(), part.size());
}

// Reads the frame that `bytes` begin with into `frame`, which has no parts. How many
// bytes it took; 0 if it is none of those, or not whole, or has a part of `limit` bytes
// or more, or there is no memory: then nothing has happened.
inline std::size_t read_small_frame(std::span<const std::byte> bytes, std::uint64_t limit,
                                    BufferPool& pool, Frame& frame) {
  if (bytes.size() < prefix_size(1)) return 0;
  const auto prefix = load<std::uint64_t>(bytes.data());
  const std::size_t head_size = prefix >> 16 & 0xFFFF;
  if ((prefix & 0xFFFF) != kFrameMagic || prefix >> 32 != 1 || head_size > kMaxHead) return 0;
  const auto size = load<std::uint64_t>(bytes.data() + kPrefixSize);
  const std::size_t opening = prefix_size(1) + head_size;
  if (size == 0 || size >= limit || bytes.size() < opening || size > bytes.size() - opening) {
    return 0;
  }
  WritableBuffer block = pool.take(size);
  if (block.size() < size) return 0;
  copy_bytes(block.data(), bytes.data() + opening, size);
  frame.head.assign(bytes.subspan(prefix_size(1), head_size));
  frame.parts.push_back(std::move(block).freeze());
  return opening + size;
}

}  // namespace muster::wire
