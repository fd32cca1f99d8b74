// What becomes of a link while the user's thread at one end computes and does not wait.

#pragma once

#include <string>

#include "muster/base/clock.h"

namespace muster::tests {

struct Linked {
  bool is_up = false;      // Both ends still are, in the end.
  int messages = 0;        // That the end which computes has taken,
  Duration longest_gap{};  // and between two of them, or until the first.
};

// Joins two loops by a link over shm or tcp whose ends lose each other after 280 ms of
// silence, and computes for `time` at one of them. The other says something each 10 ms
// for half of it, then only beats.
Linked compute_while_linked(const std::string& scheme, Duration time);

// Fails the running test unless the link stood, and what came was taken meanwhile.
void expect_linked(const Linked& linked, Duration time);

}  // namespace muster::tests
