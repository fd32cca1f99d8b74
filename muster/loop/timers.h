// Timers in the order they are due. Pure: time is told, never asked.

#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "muster/base/clock.h"

namespace muster::loop {

class Timers;

// One call in the future. Stopped when it is destroyed.
class Timer {
 public:
  explicit Timer(std::function<void()> action) : action_(std::move(action)) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  bool is_armed() const { return timers_ != nullptr; }
  TimePoint due() const { return due_; }

 private:
  friend class Timers;
  std::function<void()> action_;
  Timers* timers_ = nullptr;
  std::size_t position_ = 0;
  TimePoint due_{};
};

class Timers {
 public:
  Timers() = default;
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // Calls `check` whenever a timer is armed or stopped, destroyed ones too. For
  // debugging: who owns the timers says there who may touch them.
  void check_by(std::function<void()> check) { check_ = std::move(check); }

  // Arms `timer`, or moves it if it is armed.
  void start(Timer& timer, TimePoint due);
  void stop(Timer& timer);

  // kForever if there is none.
  TimePoint next() const { return heap_.empty() ? kForever : heap_.front()->due_; }

  // Runs what is due at `now`, earliest first. An action may start and stop
  // timers, this one too. What it starts for `now` runs in the next call, which may
  // be the action's own: that one runs what is left of this one as well.
  bool run(TimePoint now);

 private:
  void place(std::size_t position, Timer* timer);
  void sift_up(std::size_t position);
  void sift_down(std::size_t position);
  void remove(std::size_t position);

  std::vector<Timer*> heap_;
  std::vector<Timer*> due_now_;  // Those from next_due_ on are still to be run.
  std::size_t next_due_ = 0;
  std::function<void()> check_;
};

}  // namespace muster::loop
