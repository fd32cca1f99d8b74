// Whether a thread may let others have its processor before it sleeps. Pure.
//
// Where peers share the processor, a yield lets them work and comes back when they
// are done, without the system calls, and on another processor the wake-up, that a
// sleep costs both sides. Beside somebody who computes it costs a whole time slice,
// some hundred times what it may save. Whether there is one can only be found out by
// trying: less and less often, as long as there is.

#pragma once

#include <algorithm>
#include <chrono>

#include "muster/base/clock.h"

namespace muster::loop {

class YieldBudget {
 public:
  bool may_yield(TimePoint now) const { return now >= resumes_; }

  // A yield came back at `now`, after so long. False: no more of them for a while.
  bool goes_on_after(Duration away, TimePoint now) {
    if (away < kTooLong) return true;
    const bool was_quiet = now - resumes_ > kQuietPauses * pause_;
    pause_ = was_quiet ? kShortestPause : std::min<Duration>(2 * pause_, kLongestPause);
    resumes_ = now + pause_;
    return false;
  }

 private:
  // Longer than a crowd of peers that answer takes, shorter than any time slice.
  static constexpr Duration kTooLong = std::chrono::milliseconds(1);
  // A slice lost in each is a twelfth of the time at first, a 250th in the end.
  static constexpr Duration kShortestPause = std::chrono::milliseconds(50);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);
  static constexpr int kQuietPauses = 4;

  TimePoint resumes_{};
  Duration pause_{};
};

}  // namespace muster::loop
