// Tag: what a message is about. A short name, of a string or of an enumerator.

#pragma once

#include <array>
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
  std::string_view text() const { return {text_.data(), is_valid() ? size_ : std::size_t{0}}; }

  friend bool operator==(const Tag& a, const Tag& b) {
    return a.size_ == b.size_ && a.text() == b.text();
  }

 private:
  void assign(std::string_view text) {
    size_ = static_cast<std::uint8_t>(text.size() <= kMaxTag ? text.size() : kMaxTag + 1);
    if (is_valid()) std::memcpy(text_.data(), text.data(), text.size());
  }

  std::uint8_t size_ = 0;
  std::array<char, kMaxTag> text_;  // Not cleared: only the first size_ are ever read.
};

}  // namespace muster::msg
