// Writes and reads what stores put into their records. Pure; nothing read is trusted.

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "muster/base/id.h"

namespace muster::msg::internal {

class StoreWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void number(T value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  void id(const Id& id) {
    number(id.high);
    number(id.low);
  }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes(std::as_bytes(std::span(text)));
  }
  void bytes(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  std::span<const std::byte> written() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Once something was not there, it gives nothing and is not whole.
class StoreReader {
 public:
  explicit StoreReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T value{};
    const auto from = bytes(sizeof value);
    if (from.size() == sizeof value) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  Id id() {
    const auto high = number<std::uint64_t>();
    return {high, number<std::uint64_t>()};
  }
  std::string text() {
    const auto from = bytes(number<std::uint32_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > left_.size()) is_whole_ = false;
    if (!is_whole_) return {};
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  std::span<const std::byte> rest() { return bytes(left_.size()); }

  bool is_whole() const { return is_whole_; }
  bool empty() const { return left_.empty() || !is_whole_; }

 private:
  std::span<const std::byte> left_;
  bool is_whole_ = true;
};

}  // namespace muster::msg::internal
