// Brief frames: one small part, after a frame whose head was much the same.
//
// Frames that follow each other quickly differ in a few words of their heads, often
// in none. A brief one has only those; all else is as in the frame before. Both ends
// remember that head. docs/reference/wire.md has the bytes. Pure.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "muster/base/buffer_pool.h"
#include "muster/base/copy_bytes.h"
#include "muster/wire/bytes.h"
#include "muster/wire/frame.h"

namespace muster::wire {

inline constexpr std::uint16_t kBriefMagic = 0x4D42;  // "BM" in memory order.
inline constexpr std::size_t kBriefFixed = 8;         // Magic, changed, size.
inline constexpr std::size_t kHeadWord = 8;

// The first bytes of a brief frame.
struct Brief {
  std::uint16_t changed = 0;  // Bit i: word i of the head is another, and follows.
  std::uint32_t size = 0;     // Of the part, which follows then.

  // Bytes before the part.
  std::size_t opening() const {
    return changed == 0 ? kBriefFixed : kBriefFixed + kHeadWord * std::popcount(changed);
  }
  // True if it can follow a frame with the head `before`, and its part has less than
  // `limit` bytes.
  bool fits(const Head& before, std::uint64_t limit) const {
    return before.size() > 0 && changed >> (before.size() / kHeadWord) == 0 && size > 0 &&
           size < limit;
  }
};

// `first` is what a frame begins with.
inline bool is_brief(std::uint64_t first) { return (first & 0xFFFF) == kBriefMagic; }
inline Brief read_brief(std::uint64_t first) {
  return {static_cast<std::uint16_t>(first >> 16), static_cast<std::uint32_t>(first >> 32)};
}

// True if `head`, of `size` bytes in words, is as `before`.
inline bool is_same_head(const std::byte* head, const std::byte* before, std::size_t size) {
  if (size != kUsualHead) return std::memcmp(head, before, size) == 0;
  static_assert(kUsualHead == 4 * kHeadWord);
  const auto difference = [&](std::size_t word) {
    return load<std::uint64_t>(head + word * kHeadWord) ^
           load<std::uint64_t>(before + word * kHeadWord);
  };
  return (difference(0) | difference(1) | difference(2) | difference(3)) == 0;
}

// Writes the words of `head` that differ from `before` to `out`, and into `before`. Bit i
// of what it gives: word i is one of them.
std::uint64_t write_changed_words(const std::byte* head, std::byte* before, std::size_t size,
                                  std::byte* out);

// Writes a frame of `head` and one part to `out`, after a frame with the head `before`,
// which becomes this one's. How many bytes it took, never more than in full; 0 if it
// cannot be told by what differs: then nothing has happened.
[[gnu::always_inline]] inline std::size_t write_brief_frame(std::span<const std::byte> head,
                                                            std::span<const std::byte> part,
                                                            Head& before, std::byte* out) {
  const std::size_t head_size = head.size();
  if (head_size != before.size() || head_size % kHeadWord != 0 || head_size == 0) return 0;
  std::uint64_t changed = 0;
  std::size_t opening = kBriefFixed;
  if (!is_same_head(head.data(), before.bytes().data(), head_size)) {
    changed =
        write_changed_words(head.data(), before.resize(head_size).data(), head_size, out + opening);
    opening += kHeadWord * static_cast<std::size_t>(std::popcount(changed));
  }
  store<std::uint64_t>(out, kBriefMagic | changed << 16 | std::uint64_t{part.size()} << 32);
  copy_bytes(out + opening, part.data(), part.size());
  return opening + part.size();
}

// Puts the words that follow a brief frame's first bytes into `before`, which it fits.
void change_words(std::uint32_t changed, const std::byte* words, Head& before);

// Reads the brief frame that `bytes` begin with into `frame`, which has no parts. How
// many bytes it took; 0 if it does not fit, or is not whole, or there is no memory:
// then nothing has happened.
inline std::size_t read_brief_frame(std::span<const std::byte> bytes, std::uint64_t limit,
                                    BufferPool& pool, Head& before, Frame& frame) {
  const Brief brief = read_brief(load<std::uint64_t>(bytes.data()));
  const std::size_t opening = brief.opening();
  if (!brief.fits(before, limit) || bytes.size() < opening + brief.size) return 0;
  WritableBuffer block = pool.take(brief.size);
  if (block.size() < brief.size) return 0;
  copy_bytes(block.data(), bytes.data() + opening, brief.size);
  if (brief.changed != 0) change_words(brief.changed, bytes.data() + kBriefFixed, before);
  frame.head.assign(before.bytes());
  frame.parts.push_back(std::move(block).freeze());
  return opening + brief.size;
}

}  // namespace muster::wire
