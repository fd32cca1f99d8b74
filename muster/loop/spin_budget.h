// How long a thread looks again and again before it sleeps. Pure.
//
// A spin that pays saves two wake-ups; one that does not is a core taken from
// somebody else. So it is trusted as long as it works, gives up soon when it
// does not, and is tried again now and then where sleeps are short.

#pragma once

#include "muster/base/clock.h"

namespace muster::loop {

class SpinBudget {
 public:
  explicit SpinBudget(Duration longest) : longest_(longest) {}

  // For the spin that begins now.
  Duration next() const { return trust_ > 0 ? longest_ : Duration::zero(); }

  // Something came while it looked.
  void ended_awake() { trust_ = trust_ + 4 > kMost ? kMost : trust_ + 4; }

  // It slept for so long, after a spin if `spun`.
  void ended_asleep(Duration slept, bool spun) {
    if (spun) trust_ /= 2;
    if (trust_ > 0) return;
    // Short sleeps would have been caught by a spin, if a processor is free for
    // the peer. Whether one is can only be found out by trying.
    if (slept < 2 * longest_ && ++short_waits_ >= kProbeEvery) {
      short_waits_ = 0;
      trust_ = 1;
    }
  }

 private:
  static constexpr int kMost = 16;
  static constexpr int kProbeEvery = 8;

  Duration longest_;
  int trust_ = kMost;
  int short_waits_ = 0;
};

}  // namespace muster::loop
