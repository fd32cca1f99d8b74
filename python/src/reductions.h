// Reductions as Python names them, and those that are functions of Python's.

#pragma once

#include <cstdint>
#include <memory>

#include "binding.h"
#include "lent.h"
#include "muster/collectives/element.h"
#include "muster/collectives/reduction.h"

namespace muster::python {

// What came of a function's calls. Those of one rank see only their own part of
// the numbers, so the ranks tell each other whether any has raised.
struct Verdict {
  std::int32_t rank = 0;    // This one.
  std::int32_t mine = 0;    // Its rank and one more, if its function has raised.
  std::int32_t anyone = 0;  // The highest of everybody's, once they have told.
  Kept raised;              // What it raised. Guarded by the interpreter's lock.
};

struct Reducing {
  collectives::Reduction reduction;
  std::shared_ptr<Verdict> verdict;  // Null unless it is a function.
};

// "sum" and so on, a muster.UserReduction, or a function of two arrays.
Reducing to_reducing(nb::handle said, collectives::Element element, std::uint32_t rank);

}  // namespace muster::python
