// Conversions of f16 and bf16, by arithmetic that loops can do side by side:
// no branches, no calls. Everything is `static`: see kernel_table.h.

#pragma once

#include <cstdint>

#include "muster/collectives/element.h"

namespace muster::collectives {
namespace {

inline float float_of_bits(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

[[maybe_unused]] inline float widen(BF16 value) {
  return float_of_bits(static_cast<std::uint32_t>(value.bits) << 16);
}

// Adds just under half of what is cut off, or half where that leads to an even one.
[[maybe_unused]] inline BF16 narrow_bf16(float value) {
  const std::uint32_t bits = bits_of_float(value);
  const std::uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  const std::uint32_t quiet = bits >> 16 | 0x40;
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  return {static_cast<std::uint16_t>(is_nan ? quiet : rounded)};
}

// As a float with the exponent of a half; a product moves it to its place, and
// makes numbers that are normal as floats of those that are not as halves.
[[maybe_unused]] inline float widen(F16 value) {
  const std::uint32_t all = value.bits;
  const std::uint32_t sign = (all & 0x8000) << 16;
  const std::uint32_t magnitude = all & 0x7FFF;
  constexpr std::uint32_t kTwoTo112 = (112 + 127) << 23;
  const std::uint32_t scaled =
      bits_of_float(float_of_bits(magnitude << 13) * float_of_bits(kTwoTo112));
  const std::uint32_t special = magnitude << 13 | 0x7F800000;
  return float_of_bits((magnitude >= 0x7C00 ? special : scaled) | sign);
}

[[maybe_unused]] inline F16 narrow_f16(float value) {
  const std::uint32_t bits = bits_of_float(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  // Rounded by hand, the exponent moved; carries go into it and end in infinity.
  const std::uint32_t normal =
      (magnitude + 0xFFF + (magnitude >> 13 & 1) - (std::uint32_t{112} << 23)) >> 13;
  // Below the smallest normal half: adding one half rounds at the right bit.
  constexpr std::uint32_t kOneHalf = std::uint32_t{126} << 23;
  const std::uint32_t small =
      bits_of_float(float_of_bits(magnitude) + float_of_bits(kOneHalf)) - kOneHalf;
  const std::uint32_t huge = magnitude > 0x7F800000 ? 0x7E00 | (magnitude >> 13 & 0x3FF) : 0x7C00;
  const std::uint32_t finite = magnitude < 0x38800000 ? small : normal;
  return {static_cast<std::uint16_t>((magnitude >= 0x47800000 ? huge : finite) | sign)};
}

}  // namespace
}  // namespace muster::collectives
