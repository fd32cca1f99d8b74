// A frame: what one send carries. A small head, and parts that are never joined.
//
// docs/reference/wire.md has the bytes. Pure: nothing here knows a socket.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/wire/parts.h"

namespace muster::wire {

inline constexpr std::size_t kMaxHead = 128;
// Most heads have just this size, and what is done to so many bytes is a few instructions.
inline constexpr std::size_t kUsualHead = 32;
inline constexpr std::size_t kMaxParts = 1024;
inline constexpr std::uint64_t kMaxPart = std::uint64_t{16} << 30;

// The head's bytes, kept inside the frame so that a small message costs no allocation.
class Head {
 public:
  Head() = default;
  // At most kMaxHead bytes are taken.
  explicit Head(std::span<const std::byte> bytes) { assign(bytes); }

  void assign(std::span<const std::byte> bytes) {
    size_ = static_cast<std::uint8_t>(bytes.size() < kMaxHead ? bytes.size() : kMaxHead);
    copy_head(bytes_.data(), bytes.data(), size_);
  }
  // Puts the bytes where the caller has room for them.
  void copy_to(std::byte* out) const { copy_head(out, bytes_.data(), size_); }
  // Room for `size` bytes, to be written by the caller.
  std::span<std::byte> resize(std::size_t size) {
    size_ = static_cast<std::uint8_t>(size < kMaxHead ? size : kMaxHead);
    return {bytes_.data(), size_};
  }

  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  std::size_t size() const { return size_; }

 private:
  static void copy_head(std::byte* to, const std::byte* from, std::size_t size) {
    if (size == kUsualHead) {
      std::memcpy(to, from, kUsualHead);
    } else {
      copy_unusual(to, from, size);
    }
  }
  static void copy_unusual(std::byte* to, const std::byte* from, std::size_t size);

  alignas(16) std::array<std::byte, kMaxHead> bytes_;  // Only the first size_ are ever read.
  std::uint8_t size_ = 0;
};

struct Frame {
  Head head;
  Parts parts;

  // Bytes of all parts together.
  std::uint64_t body_size() const {
    std::uint64_t sum = 0;
    for (const Buffer& part : parts) sum += part.size();
    return sum;
  }
};

// What stands before a frame on a byte stream: 8 bytes, then 8 per part.
struct Prefix {
  std::size_t head_size = 0;
  std::size_t part_count = 0;
};
inline constexpr std::uint16_t kFrameMagic = 0x4D46;  // "FM" in memory order.
inline constexpr std::size_t kPrefixSize = 8;
inline constexpr std::size_t kPartSizeSize = 8;

// How many bytes prefix and part sizes take together.
inline std::size_t prefix_size(std::size_t part_count) {
  return kPrefixSize + kPartSizeSize * part_count;
}

// Writes prefix and part sizes of `frame` into `out`, which has room for them.
void write_prefix(const Frame& frame, std::span<std::byte> out);

// Reads the first kPrefixSize bytes of `bytes`. Code::invalid if they are not
// a prefix or ask for more than a frame may have.
Result<Prefix> read_prefix(std::span<const std::byte> bytes);

// Reads the size of one part. Code::invalid above kMaxPart.
Result<std::uint64_t> read_part_size(std::span<const std::byte> bytes);

}  // namespace muster::wire
