// Little-endian numbers in and out of bytes, whatever the alignment.

#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace muster::wire {

static_assert(std::endian::native == std::endian::little,
              "a port to a big-endian machine swaps bytes in this header");

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace muster::wire
