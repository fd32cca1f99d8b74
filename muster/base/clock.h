// The clock that everything asks, so that tests can pass their own.

#pragma once

#include <atomic>
#include <chrono>

namespace muster {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Later than any deadline: wait without one.
inline constexpr TimePoint kForever = TimePoint::max();

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;  // Any thread. Never goes back.
};

// The machine's monotonic clock; the same object for everyone.
const Clock& system_clock();

// Stands still until it is told to move.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(ticks_.load())); }
  void advance(Duration by) { ticks_ += by.count(); }
  void set(TimePoint to) { ticks_ = to.time_since_epoch().count(); }

 private:
  std::atomic<Duration::rep> ticks_{Duration(std::chrono::hours(1)).count()};
};

}  // namespace muster
