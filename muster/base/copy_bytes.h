// copy_bytes: memcpy for bytes that are few, most of the time.
//
// The C library copies a few dozen bytes with the widest registers there are, and
// on some processors (seen on AMD's Zen 4) the next ordinary vector instruction then
// waits for some 20 cycles: twice per message, a tenth of a round trip through shared
// memory. Copies inline, by 16 bytes, do not.

#pragma once

#include <cstddef>
#include <cstring>

namespace muster {

// Copies `size` bytes, which may be none, between places that do not overlap.
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const std::byte* from,
                                              std::size_t size) {
  constexpr std::size_t kMostInline = 256;
  constexpr std::size_t kStep = 32;
  if (size > kMostInline) {
    std::memcpy(to, from, size);
  } else if (size >= kStep) {
    // Whole steps, and one that ends where the bytes do, over what was copied before.
    const std::size_t last = size - kStep;
    for (std::size_t at = 0; at < last; at += kStep) {
      std::memcpy(to + at, from + at, kStep);
      // Or the compiler would see what this is, and call the C library.
      asm volatile("" : "+r"(at));
    }
    std::memcpy(to + last, from + last, kStep);
  } else if (size >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else if (size > 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}

}  // namespace muster
