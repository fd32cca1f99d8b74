// Slice: how long the calling thread may keep the processor while others wait for it.
//
// One with shorter slices has as much of the processor as before, in more pieces, and
// each sooner: Linux (from 6.12 on) lets it run as soon as it wakes, where one with
// longer slices has the processor.

#pragma once

#include <cstdint>

namespace muster::loop {

// All of it for the calling thread, and without effect where the system knows no such
// thing, forbids it, or schedules this thread by other rules.
class Slice {
 public:
  void halve();
  // As it was before.
  void restore();
  bool is_halved() const { return usual_ != 0; }

 private:
  std::uint64_t usual_ = 0;  // Nanoseconds, while it is halved.
  bool is_refused_ = false;  // It is not asked again.
};

}  // namespace muster::loop
