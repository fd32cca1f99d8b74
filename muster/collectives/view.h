// Input, Output: what an operation reads and writes, as the caller has it.
//
//   std::vector<float> gradients;
//   communicator->all_reduce(gradients, gradients, Reduction::mean);

#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "muster/collectives/element.h"

namespace muster::collectives {

template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && requires {
  { element_of<std::remove_cv_t<std::ranges::range_value_t<R>>> } -> std::convertible_to<Element>;
};

// Numbers that are only read. Nothing is owned.
struct Input {
  const void* data = nullptr;
  std::uint64_t count = 0;
  Element element = Element::u8;

  Input() = default;
  Input(const void* from, std::uint64_t how_many, Element what)
      : data(from), count(how_many), element(what) {}
  template <ElementRange R>
  Input(const R& range)
      : data(std::ranges::data(range)),
        count(std::ranges::size(range)),
        element(element_of<std::remove_cv_t<std::ranges::range_value_t<R>>>) {}

  std::uint64_t bytes() const { return count * size_of(element); }
};

// Numbers that are written. Nothing is owned.
struct Output {
  void* data = nullptr;
  std::uint64_t count = 0;
  Element element = Element::u8;

  Output() = default;
  Output(void* to, std::uint64_t how_many, Element what)
      : data(to), count(how_many), element(what) {}
  template <ElementRange R>
    requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  Output(R&& range)
      : data(std::ranges::data(range)),
        count(std::ranges::size(range)),
        element(element_of<std::remove_cv_t<std::ranges::range_value_t<R>>>) {}

  std::uint64_t bytes() const { return count * size_of(element); }
  operator Input() const { return {data, count, element}; }
};

}  // namespace muster::collectives
