// Ids that do not collide across processes and hosts.

#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace muster {

// 128 bits from the kernel's random source. All zero means "none".
struct Id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static Id random();
  // 32 hexadecimal digits.
  std::string to_string() const;

  explicit operator bool() const { return (high | low) != 0; }
  friend auto operator<=>(const Id&, const Id&) = default;
};

// 64 random bits from the kernel, for seeds and nonces' halves.
std::uint64_t random_bits();

}  // namespace muster

template <>
struct std::hash<muster::Id> {
  std::size_t operator()(const muster::Id& id) const noexcept { return id.high ^ id.low; }
};
