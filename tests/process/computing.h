// What a loop hears while the user's thread computes and does not wait.

#pragma once

#include "muster/base/clock.h"

namespace muster::tests {

struct Heard {
  Duration longest_gap{};    // Between two ticks of a timer of 10 ms.
  Duration longest_delay{};  // Of a descriptor's event, one each 10 ms.
  int ticks = 0;
  int events = 0;
};

// Drives a loop for a moment, then computes for `time`.
Heard compute_for(Duration time);

// Fails the running test unless timers and events went on meanwhile.
void expect_heard(const Heard& heard, Duration time);

}  // namespace muster::tests
