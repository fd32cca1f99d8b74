// Wait: how long a blocking call may take, and what else ends it.

#pragma once

#include <chrono>
#include <stop_token>
#include <utility>

#include "muster/base/clock.h"

namespace muster::msg {

// For the whole call, however many things it waits for.
class Wait {
 public:
  Wait() = default;  // For ever.
  Wait(TimePoint deadline, std::stop_token stop = {})
      : deadline_(deadline), stop_(std::move(stop)) {}
  // From when the call begins. 0: looks, and does not wait.
  template <class Rep, class Period>
  Wait(std::chrono::duration<Rep, Period> duration, std::stop_token stop = {})
      : duration_(duration), stop_(std::move(stop)) {}
  Wait(std::stop_token stop) : stop_(std::move(stop)) {}

  TimePoint deadline(const Clock& clock) const {
    return deadline_from([&] { return clock.now(); });
  }
  // Asks for the time only if it must.
  template <class Now>
  TimePoint deadline_from(Now now) const {
    return duration_ == Duration::max() ? deadline_ : now() + duration_;
  }
  // Once requested, the call ends with Code::cancelled.
  const std::stop_token& stop() const { return stop_; }

  // The same, but `question` is asked every kCheckEvery by the thread that waits,
  // never under the baton; true ends the call as stop() does. For who learns of
  // signals only by asking, as an interpreter does.
  using Check = bool (*)();
  static constexpr Duration kCheckEvery = std::chrono::milliseconds(50);
  Wait asking(Check question) const {
    Wait wait = *this;
    wait.check_ = question;
    return wait;
  }
  Check check() const { return check_; }

 private:
  TimePoint deadline_ = kForever;
  Duration duration_ = Duration::max();
  std::stop_token stop_;
  Check check_ = nullptr;
};

}  // namespace muster::msg
