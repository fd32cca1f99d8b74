// A frame's bytes as they go over a stream, written the plain way.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "muster/wire/frame.h"

namespace muster::drivers::tcp::testing {

inline void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

inline std::vector<std::byte> on_the_wire(const wire::Frame& frame) {
  std::vector<std::byte> bytes(wire::prefix_size(frame.parts.size()));
  wire::write_prefix(frame, bytes);
  append(bytes, frame.head.bytes());
  for (const Buffer& part : frame.parts) append(bytes, part.bytes());
  return bytes;
}

}  // namespace muster::drivers::tcp::testing
