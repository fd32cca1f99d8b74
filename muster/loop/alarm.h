// Wakes a sleeper at a time, at little cost for one who mostly wakes earlier.
//
// A sleep with a time limit makes the kernel set a timer and take it back, which
// on a virtual processor costs as much as the wake-up itself. Here the timer
// stays: it is set only where it would ring too late, and one that rings too
// early does so once.

#pragma once

#include "muster/base/clock.h"
#include "muster/base/descriptor.h"
#include "muster/base/result.h"

namespace muster::loop {

class Alarm {
 public:
  Status open();

  // Readable, by edge, at some time after the last call and no later than it said.
  int descriptor() const { return timer_.get(); }

  // `when` may be kForever.
  void ring_by(TimePoint when, TimePoint now);

 private:
  Descriptor timer_;
  TimePoint set_to_{};  // Has rung if it has passed.
};

}  // namespace muster::loop
