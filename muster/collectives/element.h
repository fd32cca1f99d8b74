// Element: the types of numbers that collectives carry and reduce.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::collectives {

// The numbers travel between processes: append, never renumber.
enum class Element : std::uint8_t { i8, u8, i32, i64, f16, bf16, f32, f64 };

inline constexpr std::array kElements{Element::i8,  Element::u8,   Element::i32, Element::i64,
                                      Element::f16, Element::bf16, Element::f32, Element::f64};

// Bytes of one.
constexpr std::size_t size_of(Element element) {
  constexpr std::array<std::uint8_t, kElements.size()> kSizes{1, 1, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<std::size_t>(element)];
}

constexpr std::string_view name(Element element) {
  constexpr std::array<std::string_view, kElements.size()> kNames{"i8",  "u8",   "i32", "i64",
                                                                  "f16", "bf16", "f32", "f64"};
  return kNames[static_cast<std::size_t>(element)];
}

// The element whose number came from outside; nothing if there is none.
constexpr std::optional<Element> element_of_number(std::uint8_t number) {
  if (number >= kElements.size()) return std::nullopt;
  return static_cast<Element>(number);
}

// Half precision (IEEE binary16) and bfloat16: two bytes that are converted to
// float for every sum. Conversions round to the nearest, ties to even.
struct F16 {
  std::uint16_t bits = 0;
  friend bool operator==(F16, F16) = default;
};
struct BF16 {
  std::uint16_t bits = 0;
  friend bool operator==(BF16, BF16) = default;
};

// element_of<float> is Element::f32, and so on. Reads as the function it might be.
// NOLINTBEGIN(readability-identifier-naming)
template <class T>
inline constexpr Element element_of = [] { static_assert(sizeof(T) == 0, "not an element"); }();
template <>
inline constexpr Element element_of<std::int8_t> = Element::i8;
template <>
inline constexpr Element element_of<std::uint8_t> = Element::u8;
template <>
inline constexpr Element element_of<std::int32_t> = Element::i32;
template <>
inline constexpr Element element_of<std::int64_t> = Element::i64;
template <>
inline constexpr Element element_of<F16> = Element::f16;
template <>
inline constexpr Element element_of<BF16> = Element::bf16;
template <>
inline constexpr Element element_of<float> = Element::f32;
template <>
inline constexpr Element element_of<double> = Element::f64;
// NOLINTEND(readability-identifier-naming)

}  // namespace muster::collectives
