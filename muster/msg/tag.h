// Tag: what a message is about. A short name, of a string or of an enumerator.

#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace muster::msg {

inline constexpr std::size_t kMaxTag = 48;

// An enum is a tag where its own namespace has a tag_name() for it:
//
//   enum class Step { rollout, update };
//   std::string_view tag_name(Step step);
template <class E>
concept TagEnum = std::is_enum_v<E> && requires(E value) {
  { tag_name(value) } -> std::convertible_to<std::string_view>;
};

// Kept inside itself: no message allocates for its tag.
class Tag {
 public:
  Tag() = default;
  Tag(std::string_view text) { assign(text); }
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  Tag(const T& text) : Tag(std::string_view(text)) {}
  template <TagEnum E>
  Tag(E value) : Tag(std::string_view(tag_name(value))) {}

  // False if it is empty or longer than kMaxTag; nobody sends such a one.
  bool is_valid() const { return size_ > 0 && size_ <= kMaxTag; }
  std::string_view text() const { return {text_.data(), size()}; }

  // Most are; a few words tell.
  bool is_ascii() const {
    constexpr std::uint64_t kHighBits = 0x8080808080808080;
    std::uint64_t seen = 0;
    std::size_t at = 0;
    for (; at + 8 <= size(); at += 8) seen |= word(at);
    if (at < size()) seen |= word(at) & ((std::uint64_t{1} << (8 * (size() - at))) - 1);
    return (seen & kHighBits) == 0;
  }

  // All kMaxTag bytes at once, which is less work than to copy as many as there
  // are: those behind the text mean nothing.
  void copy_to(std::byte* out) const { std::memcpy(out, text_.data(), kMaxTag); }
  static Tag copy_of(const std::byte* bytes, std::uint8_t size) {
    Tag tag;
    tag.size_ = size;
    std::memcpy(tag.text_.data(), bytes, kMaxTag);
    return tag;
  }

  friend bool operator==(const Tag& a, const Tag& b) {
    return a.size_ == b.size_ && a.text() == b.text();
  }

 private:
  std::size_t size() const { return is_valid() ? size_ : std::size_t{0}; }
  std::uint64_t word(std::size_t at) const {
    static_assert(kMaxTag % 8 == 0 && std::endian::native == std::endian::little);
    std::uint64_t word;
    std::memcpy(&word, text_.data() + at, sizeof word);
    return word;
  }
  void assign(std::string_view text) {
    size_ = static_cast<std::uint8_t>(text.size() <= kMaxTag ? text.size() : kMaxTag + 1);
    if (is_valid()) std::memcpy(text_.data(), text.data(), text.size());
  }

  std::uint8_t size_ = 0;
  std::array<char, kMaxTag> text_;  // Not cleared: only the first size_ mean anything, or leave.
};

}  // namespace muster::msg
