// The first bytes of MessagePack values, and the extensions that Muster adds.
//
// For encode() and decode() only; docs/reference/wire.md tells what follows each.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace muster::wire::internal {

enum class Mark : std::uint8_t {
  // Up to here the byte is the number itself, 0 to 127. The next three hold a
  // count in their low bits, up to the one after.
  fix_map = 0x80,
  fix_list = 0x90,
  fix_string = 0xA0,
  nil = 0xC0,
  no = 0xC2,
  yes = 0xC3,
  bytes8 = 0xC4,
  bytes16 = 0xC5,
  bytes32 = 0xC6,
  extension8 = 0xC7,
  extension16 = 0xC8,
  extension32 = 0xC9,
  real32 = 0xCA,
  real64 = 0xCB,
  unsigned8 = 0xCC,
  unsigned16 = 0xCD,
  unsigned32 = 0xCE,
  unsigned64 = 0xCF,
  signed8 = 0xD0,
  signed16 = 0xD1,
  signed32 = 0xD2,
  signed64 = 0xD3,
  fix_extension1 = 0xD4,
  fix_extension2 = 0xD5,
  fix_extension4 = 0xD6,
  fix_extension8 = 0xD7,
  fix_extension16 = 0xD8,
  string8 = 0xD9,
  string16 = 0xDA,
  string32 = 0xDB,
  list16 = 0xDC,
  list32 = 0xDD,
  map16 = 0xDE,
  map32 = 0xDF,
  // From here on the byte is the number itself, -32 to -1.
  fix_negative = 0xE0,
};

// How many lists, maps and characters the fix_ marks can count.
inline constexpr std::size_t kFixCount = 0x0F;
inline constexpr std::size_t kFixString = 0x1F;

// Extension types. Their fields are little-endian, as everywhere in Muster but in MessagePack.
enum class Extension : std::int8_t {
  bytes = 1,   // u32 part
  tensor = 2,  // u32 part, u32 dtype, u64 for each dimension
};
inline constexpr std::size_t kBytesExtension = 4;
inline constexpr std::size_t kTensorExtension = 8;  // Before the dimensions.

// MessagePack's numbers are big-endian: turns one into or from the machine's order.
template <std::unsigned_integral T>
constexpr T big_endian(T number) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(number);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(number);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(number);
  return number;
}

}  // namespace muster::wire::internal
