// The frames that matter most: one small part, and all of it lies side by side.
//
// The same bytes as frame.h's, read in one step. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "muster/base/buffer_pool.h"
#include "muster/wire/bytes.h"
#include "muster/wire/frame.h"

namespace muster::wire {

// Reads the frame that `bytes` begin with into `frame`, which has no parts; `prefix`
// is its own. How many bytes it took; 0 if it is none of those, or has a part of
// `limit` bytes or more, or there is no memory: then nothing has happened.
inline std::size_t read_small_frame(const Prefix& prefix, std::span<const std::byte> bytes,
                                    std::uint64_t limit, BufferPool& pool, Frame& frame) {
  if (prefix.part_count != 1) return 0;
  const std::size_t opening = prefix_size(1) + prefix.head_size;
  if (bytes.size() < opening) return 0;
  const auto size = load<std::uint64_t>(bytes.data() + kPrefixSize);
  if (size == 0 || size >= limit || size > bytes.size() - opening) return 0;
  WritableBuffer block = pool.take(size);
  if (block.size() < size) return 0;
  std::memcpy(block.data(), bytes.data() + opening, size);
  frame.head.assign(bytes.subspan(prefix_size(1), prefix.head_size));
  frame.parts.push_back(std::move(block).freeze());
  return opening + size;
}

}  // namespace muster::wire
