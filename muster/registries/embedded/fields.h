// Numbers and short strings in and out of bytes, little-endian. Pure.
//
// Not installed as an interface: message.cpp and state.cpp share it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/msg/registry.h"
#include "muster/wire/bytes.h"

namespace muster::registries::embedded {

class FieldWriter {
 public:
  template <class T>
  void number(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    wire::store(bytes_.data() + at, value);
  }
  // A size in two bytes, then the text.
  void text(std::string_view text);
  void member(const msg::Member& member);

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Gives zeroes and empty strings once the bytes have run out or broken a limit;
// is_good() tells.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    if (!has(sizeof(T))) return T{};
    const T value = wire::load<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  std::string text(std::size_t most);
  msg::Member member();

  bool is_good() const { return is_good_; }
  // Everything was read, and all of it was good.
  bool is_at_end() const { return is_good_ && rest_.empty(); }

 private:
  bool has(std::size_t count) {
    is_good_ = is_good_ && rest_.size() >= count;
    return is_good_;
  }

  std::span<const std::byte> rest_;
  bool is_good_ = true;
};

}  // namespace muster::registries::embedded
