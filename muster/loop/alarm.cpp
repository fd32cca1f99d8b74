#include "muster/loop/alarm.h"

#include <cerrno>

#include <sys/timerfd.h>

namespace muster::loop {

Status Alarm::open() {
  timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return system_error(Code::overloaded, "make a timer descriptor", errno);
  return ok();
}

void Alarm::ring_by(TimePoint when, TimePoint now) {
  if (when == kForever || (now < set_to_ && set_to_ <= when)) return;
  set_to_ = when;
  const auto since = std::chrono::nanoseconds(when.time_since_epoch()).count();
  // A moment that has passed rings at once; zero would never.
  const itimerspec due{{}, {since / 1'000'000'000, since % 1'000'000'000}};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &due, nullptr);
}

}  // namespace muster::loop
