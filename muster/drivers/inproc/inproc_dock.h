// Dock: where one inproc driver meets its loop, and other loops meet it.

#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "muster/loop/loop.h"

namespace muster::drivers::internal {

class InprocDock final : public loop::Poller {
 public:
  explicit InprocDock(loop::Loop& loop) : loop_(loop) {
    const loop::Turn turn(loop_);
    loop_.add(*this);
  }

  // Runs what was pushed, and takes no more.
  void close();

  // Any thread. Runs `task` on this dock's loop, by whoever drives it. False
  // if the dock is closed.
  bool push(std::function<void()> task);

  // Calls `flusher` before the baton is given up; but later if this is inside
  // a delivery, so that two ends that answer each other for ever do not keep
  // the baton for ever.
  void schedule(loop::Flusher& flusher);

  loop::Loop& loop() const { return loop_; }

  // Lives while frames and news are handed to sinks.
  class Delivery {
   public:
    explicit Delivery(InprocDock& dock) : dock_(dock) { ++dock_.deliveries_; }
    ~Delivery() { --dock_.deliveries_; }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

   private:
    InprocDock& dock_;
  };

 private:
  bool poll() override;
  loop::Outlook outlook() override { return loop::Outlook::none; }
  bool arm() override;
  void disarm() override;

  loop::Loop& loop_;
  int deliveries_ = 0;

  std::atomic<bool> has_tasks_{false};
  std::atomic<bool> is_armed_{false};
  std::mutex mutex_;
  bool is_closed_ = false;                    // Guarded by mutex_.
  std::vector<std::function<void()>> tasks_;  // Guarded by mutex_.
};

}  // namespace muster::drivers::internal
