// Numbers of every type as doubles, and what operations should make of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "muster/collectives/communicator.h"

namespace muster::tests {

using collectives::Element;
using collectives::Rank;
using collectives::Reduction;

// Small whole numbers, which every type has: what rank `rank` has at `index`.
double number_of(Rank rank, std::uint64_t index);

// Numbers of one type, in memory of the right size.
class Numbers {
 public:
  Numbers(Element element, std::uint64_t count)
      : Numbers(element, count, [](auto) { return 99.0; }) {}
  Numbers(Element element, std::uint64_t count, const std::function<double(std::uint64_t)>& value);

  collectives::Input input() const { return {bytes_.data(), count_, element_}; }
  collectives::Output output() { return {bytes_.data(), count_, element_}; }
  collectives::Output part(std::uint64_t offset, std::uint64_t count);
  double operator[](std::uint64_t index) const;
  std::uint64_t size() const { return count_; }

 private:
  Element element_;
  std::uint64_t count_;
  std::vector<std::byte> bytes_;
};

// What is left of all ranks' numbers at `index`.
double reduced(Reduction::Kind kind, Element element, Rank ranks, std::uint64_t index);

}  // namespace muster::tests
