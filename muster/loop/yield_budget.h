// Whether a thread gives its processor to others before it sleeps. Pure.
//
// Where peers share a processor, one who yields finds what they did when it comes
// back, and nobody had to be woken. But one who yields to a thread that computes
// waits for a whole slice of time, which a sleeper who is woken does not.

#pragma once

#include "muster/base/clock.h"

namespace muster::loop {

class YieldBudget {
 public:
  bool may_yield() { return pause_ == 0 || --pause_ == 0; }

  // The processor was gone for so long.
  void took(Duration away) {
    if (away > kLongest) pause_ = kPause;
  }

 private:
  // More than a crowd takes that answers and sleeps, less than a slice.
  static constexpr Duration kLongest = std::chrono::microseconds(500);
  // Sleeps until it is tried again: less than one wait in a thousand is late.
  static constexpr int kPause = 4096;

  int pause_ = 0;
};

}  // namespace muster::loop
