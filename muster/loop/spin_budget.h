// How long a wait looks again and again before it sleeps. Pure.
//
// A spin that pays saves two wake-ups; one that does not is a core taken from
// somebody else. So it is trusted as long as it works, gives up soon when it
// does not, and is tried again now and then where waits are short.

#pragma once

#include "muster/base/clock.h"

namespace muster::loop {

class SpinBudget {
 public:
  explicit SpinBudget(Duration longest) : longest_(longest) {}

  // For the wait that begins now.
  Duration next() const { return trust_ > 0 ? longest_ : Duration::zero(); }

  // The wait ended before it slept.
  void ended_awake() { trust_ = trust_ + 4 > kMost ? kMost : trust_ + 4; }

  // The wait slept, `waited` in all, after a spin if `spun`.
  void ended_asleep(Duration waited, bool spun) {
    if (spun) trust_ /= 2;
    if (trust_ > 0) return;
    // Short waits would have been caught by a spin, if a processor is free for
    // the peer. Whether one is can only be found out by trying.
    if (waited < 2 * longest_ && ++short_waits_ >= kProbeEvery) {
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
