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

// Numbers of one type, in memory of the right size: plain, or as `arena` gives it.
class Numbers {
 public:
  using Value = std::function<double(std::uint64_t)>;
  Numbers(Element element, std::uint64_t count, const Value& value,
          collectives::Communicator* arena = nullptr);

  collectives::Input input() const { return {data_, count_, element_}; }
  collectives::Output output() { return {data_, count_, element_}; }
  collectives::Output part(std::uint64_t offset, std::uint64_t count);
  double operator[](std::uint64_t index) const;
  std::uint64_t size() const { return count_; }

 private:
  Element element_;
  std::uint64_t count_;
  std::vector<std::byte> bytes_;
  WritableBuffer shared_;
  std::byte* data_;
};

// A reduction that a test calls. A user's is a function of the test's, on numbers of any type:
// it adds, or, where the order of the ranks counts, it composes what the numbers stand for. They
// stand for the symmetries of a triangle (0 for none, 1 for a reflection, 2 for a turn), so that
// neither a rank too few nor two ranks that have changed places stay unseen.
Reduction reduction_of(Reduction::Kind kind, Element element, bool is_ordered);

// What is left of all ranks' numbers at `index`.
double reduced(const Reduction& reduction, Element element, Rank ranks, std::uint64_t index);

}  // namespace muster::tests
