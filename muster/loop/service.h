// Whether a thread serves: it sleeps long, is woken, and what it answers wakes nobody. Pure.
//
// Such a thread is waited for by whoever woke it, awake or pushed aside on the same
// processor. One that wakes others itself, or is woken all the time, has no claim to run
// before them.

#pragma once

#include <algorithm>
#include <chrono>

#include "muster/base/clock.h"

namespace muster::loop {

class Service {
 public:
  // It is about to sleep; what it sent last has found its receivers awake, or not.
  void will_sleep(bool found_all_awake) {
    if (!found_all_awake) in_a_row_ = 0;
  }

  void has_slept(Duration time) { in_a_row_ = time < kLong ? 0 : std::min(in_a_row_ + 1, kEnough); }

  bool serves() const { return in_a_row_ >= kEnough; }

 private:
  // Several times what a sleep and a wake-up take.
  static constexpr Duration kLong = std::chrono::microseconds(300);
  // Of such sleeps in a row: the system is asked for something only once it lasts.
  static constexpr int kEnough = 8;

  int in_a_row_ = 0;
};

}  // namespace muster::loop
