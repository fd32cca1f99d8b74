// Loop: one process's descriptors, timers and polled sources, driven by whoever waits.
//
// There is no I/O thread. A thread that waits drives the loop until what it
// waits for is there; a thread that sends does so itself. One baton guards all
// that the loop owns; a thread gives it up before it sleeps. The keeper, a
// thread of the loop's own, drives while no other does, so that beats and
// arriving frames never depend on what the user's code is doing.
//
// Functions marked "Any thread." may be called from anywhere; all others need
// the baton, which a Turn or a callback of the loop gives.

#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/loop/alarm.h"
#include "muster/loop/baton.h"
#include "muster/loop/inbox.h"
#include "muster/loop/sources.h"
#include "muster/loop/spin_budget.h"
#include "muster/loop/timers.h"
#include "muster/loop/yield_budget.h"

struct epoll_event;  // NOLINT(readability-identifier-naming): the system's.

namespace muster::loop {

struct LoopOptions {
  const Clock* clock = &system_clock();
  // False: nothing happens but while a thread waits. For tests under virtual time.
  bool keeper = true;
  // The longest that a wait looks again and again before it sleeps.
  Duration spin = std::chrono::microseconds(30);
  // Whether a thread that serves others has half of its usual slices of the processor,
  // so that it runs as soon as it is woken. Its share stays as it is.
  bool short_slices = true;
  // How long no thread has driven the loop when the keeper takes over.
  Duration keeper_patience = std::chrono::milliseconds(2);
};

class Loop {
 public:
  static Result<std::unique_ptr<Loop>> make(LoopOptions options = {});
  // Nobody may be inside any more.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Any thread. Runs `task` under the baton: now if it is free, else by its
  // holder before that sleeps or leaves. Never blocks.
  void post(std::function<void()> task);

  // Any thread, not under the baton. Drives the loop, or lets another thread
  // drive it, until `done()` holds; false if the deadline came first. `done`
  // is called under the baton, also by other threads and again after it has
  // held; it must be cheap.
  bool wait_until(const std::function<bool()>& done, TimePoint deadline = kForever);

  // Any thread. The loop's clock.
  TimePoint now() const { return options_.clock->now(); }

  // Calls `handler` whenever one of `events` (EPOLLIN, EPOLLOUT, ...) holds, now
  // and then once too often: the descriptor must not block. Both outlive the watch.
  Status watch(int descriptor, std::uint32_t events, FdHandler& handler);
  void change(int descriptor, std::uint32_t events);
  void unwatch(int descriptor);

  void add(Poller& poller);
  void remove(Poller& poller);

  // Calls `flusher` once before the baton is given up.
  void flush_later(Flusher& flusher);
  // Calls `flusher` once, by whoever drives next, the keeper if nobody does: in
  // about a hundred microseconds, up to eight hundred after many that others have
  // done. For work that grows cheaper by waiting a little.
  void flush_soon(Flusher& flusher);
  // What flush_soon() was called for is done already.
  void take_back(Flusher& flusher);
  // Drops both kinds of call.
  void forget(Flusher& flusher);

  void start(Timer& timer, TimePoint due) { timers_.start(timer, due); }
  void stop(Timer& timer) { timers_.stop(timer); }

  // Does what there is to do now, without waiting. True if there was anything.
  bool run_ready();
  // When the next timer is due.
  TimePoint next_timer() const { return timers_.next(); }

  // How often the keeper has come to see whether it is needed, for tests.
  std::uint64_t keeper_visits() const { return keeper_visits_; }

  // Wakes whoever sleeps in this loop, from this process or, with a descriptor
  // that was handed on, from another.
  int wake_descriptor() const { return wake_; }

  // Any thread. True if the calling thread holds the baton.
  bool is_held() const { return held_ == this || (held_ != nullptr && is_held_outside()); }
  void check_held() const {
    if (held_ != this) [[unlikely]]
      check_held_outside();
  }

 private:
  friend class Turn;
  struct Waiter;
  struct Slot {
    FdHandler* handler = nullptr;
    std::uint32_t generation = 0;
  };

  explicit Loop(const LoopOptions& options);
  Status open();
  Status wake_by(int descriptor);

  // The baton, and what is due whenever it changes hands.
  void take() {
    baton_.take();
    mark_held();
  }
  void give();
  void give_way();
  void mark_held() {
    outer_ = held_;
    held_ = this;
  }
  bool is_held_outside() const;
  void check_held_outside() const;
  void settle();
  void settle_waiters();
  void rearm_for_sleepers();
  void flush();
  bool flush_those_due();

  // One round of what needs no sleep: pollers each time, what costs more to
  // look at now and then, or all of it.
  bool work();
  bool work_through();
  bool finish_round(bool busy);
  bool poll_all();
  bool poll_descriptors();
  void dispatch(std::span<const ::epoll_event> events);

  // Waiting (waiting.cpp).
  void note_drive();
  bool lead(Waiter& me);
  void follow(Waiter& me);
  bool stay_awake(Waiter& me);
  bool spin(Waiter& me);
  bool is_spin_over(Waiter& me, TimePoint moment) const;
  void share_processor(Waiter& me, TimePoint moment);
  bool yield(Waiter& me, int times, bool asks_system);
  bool step_aside(TimePoint& moment);
  bool park(Waiter& me);
  void choose_slice();
  static void leave_service();
  int sleep(const Waiter& me, std::span<::epoll_event> events, const ::timespec* patience);
  bool arm_all();
  void disarm_all();
  void pass_on();
  void wake(Waiter& waiter);
  void wake_parked();

  // The keeper (keeper.cpp).
  void keep();
  void sleep_while_driven(std::uint32_t word);
  Duration sleep_while_left_anew(std::uint32_t word, Duration glance);
  void watch_what_is_held();
  void wake_keeper();
  int sleep_as_keeper(std::span<::epoll_event> events, const ::timespec* patience);
  void call_keeper_out();

  // The loop whose baton this thread took last; outer_ leads to those before. A
  // callback of one loop may post to another, but never waits for it.
  static constinit thread_local const Loop* held_;

  LoopOptions options_;
  Baton baton_;
  Inbox<std::function<void()>> inbox_;

  // All below is guarded by the baton.
  const Loop* outer_ = nullptr;  // Whose baton its holder held before.
  int epoll_ = -1;
  int wake_ = -1;
  Alarm alarm_;
  std::vector<Slot> slots_;
  Timers timers_;
  std::vector<Poller*> pollers_;
  std::vector<Flusher*> flushers_;
  std::vector<Flusher*> soon_;
  std::vector<Waiter*> waiters_;
  Waiter* leader_ = nullptr;
  int parked_ = 0;            // Threads that sleep in epoll.
  bool is_armed_ = false;     // Pollers will ring for them.
  TimePoint parked_until_{};  // When the last of them wakes by itself.
  SpinBudget spins_;
  YieldBudget yields_;
  std::uint32_t rounds_ = 0;
  std::uint32_t waits_ = 0;

  // The keeper.
  std::thread keeper_;
  int keeper_bell_ = -1;  // Calls it, and nobody else, out of its sleep.
  bool is_stopping_ = false;
  std::uint64_t keeper_visits_ = 0;
  bool is_driven_ = false;                  // By a user's thread, since the keeper last looked.
  std::atomic<std::uint64_t> drives_{0};    // Waits, and rounds with work, of user threads.
  bool keeper_sleeps_deep_ = false;         // Until it is woken, not for a moment.
  bool keeper_watches_ = false;             // What was left for soon: it need not be told.
  std::atomic<std::uint64_t> leavings_{0};  // How often something was left for soon.
  std::atomic<std::uint32_t> keeper_word_{0};
};

// Holds the baton while it lives. Waits for it if need be, never for long.
// A second Turn inside the first costs nothing.
class Turn {
 public:
  explicit Turn(Loop& loop) : loop_(loop), is_outermost_(!loop.is_held()) {
    if (is_outermost_) loop_.take();
  }
  ~Turn() {
    if (is_outermost_) loop_.give();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Loop& loop_;
  bool is_outermost_;
};

}  // namespace muster::loop
