// Cases: one operation as a test calls it, with numbers that an oracle knows.

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "muster/collectives/communicator.h"
#include "muster/collectives/shape.h"

namespace muster::tests {

using namespace collectives;  // NOLINT(google-build-using-namespace): a test of it alone.

struct Case {
  Operation operation = Operation::barrier;
  Element element = Element::f32;
  Reduction::Kind kind = Reduction::Kind::sum;
  Rank root = 0;
  bool is_uneven = false;
  bool is_in_place = false;
  bool is_future = false;
  bool is_in_arena = false;
  bool is_ordered = false;            // A user's: the order of the ranks counts.
  std::vector<std::uint64_t> counts;  // Of each rank's block.
};

// `count` elements of each rank; uneven: at most so many.
void set_counts(Case& one, Rank ranks, std::uint64_t count);

// Around the sizes at which something changes: a line, a slot (2038 of four bytes), a copy, a
// window.
inline constexpr std::uint64_t kCounts[] = {0,    1,    2,    3,    9,    33,    511,  1025,
                                            2037, 2038, 2039, 4097, 9000, 16385, 70000};

// The same on all ranks that draw alike.
Case draw(std::minstd_rand& random, Rank ranks);

std::string text_of(const Case& one);

struct Checked {
  Result<Outcome> outcome;
  std::string wrong;  // What a plain loop gives otherwise; empty if nothing, or it failed.
};

// Runs it on this rank.
Checked run(const Case& one, Communicator& all);

}  // namespace muster::tests
