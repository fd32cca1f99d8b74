// The 64 bytes that every small-message case sends, and how they are verified.
#pragma once

#include <array>
#include <cstdint>

namespace muster::bench {

// Word 0 is the number of the message, the others follow from it, so that a
// lost, repeated, torn or mixed-up message is seen.
struct Message {
  std::array<std::uint64_t, 8> words;
  std::uint64_t number() const { return words[0]; }
};
static_assert(sizeof(Message) == 64);

// The number that says: this is the last one.
inline constexpr std::uint64_t kStop = ~std::uint64_t{0};

inline void stamp(Message& message, std::uint64_t number) {
  for (std::uint64_t i = 0; i < message.words.size(); ++i) {
    message.words[i] = number + i * 0x9e3779b97f4a7c15U;
  }
}

inline bool is_stamped(const Message& message, std::uint64_t number) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < message.words.size(); ++i) {
    wrong |= message.words[i] ^ (number + i * 0x9e3779b97f4a7c15U);
  }
  return wrong == 0;
}

// Checks that messages arrive whole and in order, numbered from 0. Each
// receiving end holds one.
class Expected {
 public:
  // True when `message` is the next one, false when it is the stop; fails the
  // program for anything else.
  bool accept(const Message& message) {
    if (is_stamped(message, next_)) {
      ++next_;
      return true;
    }
    if (!is_stamped(message, kStop)) refuse(message);
    return false;
  }
  std::uint64_t accepted() const { return next_; }

 private:
  [[noreturn]] void refuse(const Message& message) const;

  std::uint64_t next_ = 0;
};

}  // namespace muster::bench
