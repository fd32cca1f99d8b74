// Who waits and how: one thread leads and drives the loop, the others follow.

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/loop/loop.h"
#include "muster/loop/service.h"
#include "muster/loop/slice.h"
#include "muster/loop/virtual_thread.h"
#include "muster/loop/waiter.h"

namespace muster::loop {
namespace {

timespec to_timespec(Duration duration) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

// Waits that found what they wanted between two that look at everything.
constexpr std::uint32_t kRestEvery = 64;
// Rounds of a busy driver between two looks at its deadline.
constexpr std::uint32_t kDeadlineEvery = 16;
// Looks of one who spins between two at the clock, and at who else wants the
// processor: both cost more than they do.
constexpr std::uint32_t kClockEvery = 32;
// A yield that took longer has let somebody else have the processor.
constexpr Duration kSwitch = std::chrono::microseconds(2);
// Yields before a sleep. One peer has answered when it comes back, or needs longer.
// Of several, each may answer a little later than the one before.
constexpr int kYieldsForOne = 4;
constexpr int kYieldsForSeveral = 32;
// What goes through the system takes its time; who is alone on a processor spins by this.
constexpr int kYieldsForSockets = 48;
// A round trip through libzmq, whose threads carry it in four steps, takes about a hundred.
constexpr int kYieldsForRelays = 128;

}  // namespace

thread_local VirtualThread* virtual_thread = nullptr;

namespace {

// What the calling thread is to others.
struct Servant {
  Service service;
  Slice slice;
  bool yields_first = false;  // At the beginning of its next wait.
};
constinit thread_local Servant servant;

}  // namespace

// So that the keeper stays away.
inline void Loop::note_drive() {
  drives_.store(drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  is_driven_ = true;
}

bool Loop::wait_until(const std::function<bool()>& done, TimePoint deadline) {
  MUSTER_CHECK(!is_held(), "no thread waits while it holds the baton");
  if (virtual_thread != nullptr) [[unlikely]] {
    return virtual_thread->wait_until(*this, done, deadline);
  }
  // Whoever woke it may have been pushed aside, and has what it asked for.
  if (std::exchange(servant.yields_first, false)) ThreadEnv::yield();
  take();
  // A thread that always finds what it waits for must still move the rest.
  if (++waits_ % kRestEvery == 0) {
    note_drive();
    work_through();
  }
  bool is_done = done();
  const bool is_late = !is_done && deadline != kForever && now() >= deadline;
  if (is_late) {  // Not to wait still means to look.
    work_through();
    is_done = done();
  }
  if (is_done || is_late) {
    give();
    return is_done;
  }
  Waiter me;
  me.done = &done;
  me.deadline = deadline;
  waiters_.push_back(&me);
  do {
    if (leader_ != nullptr && !leader_->is_keeper) {
      follow(me);
      is_done = done();
      continue;
    }
    const bool keeper_led = leader_ != nullptr;
    leader_ = &me;
    // Or it would take events from this thread.
    if (keeper_led && parked_ > 0) call_keeper_out();
    is_done = lead(me);
    leader_ = nullptr;
  } while (!is_done && (deadline == kForever || now() < deadline));
  std::erase(waiters_, &me);
  flush_those_due();  // Nobody may drive for a while.
  pass_on();
  give();
  return is_done;
}

bool Loop::lead(Waiter& me) {
  if (!me.is_keeper) note_drive();
  for (;;) {
    if (baton_.is_wanted()) give_way();
    const bool busy = work();
    // It may go on for long, and hold the baton most of the time.
    if (busy && !me.is_keeper) note_drive();
    if (me.is_done()) return true;
    if (leader_ != &me || (me.is_keeper && is_stopping_)) return false;
    if (waiters_.size() > 1 || me.is_keeper) settle_waiters();
    if (busy && rounds_ % kDeadlineEvery != 0) continue;
    if (me.deadline != kForever && now() >= me.deadline) return false;
    if (busy) continue;
    if (stay_awake(me)) {
      if (me.is_done()) return true;
      continue;
    }
    if (park(me)) return false;
  }
}

// True if there may be something new.
bool Loop::stay_awake(Waiter& me) {
  if (me.is_keeper) return false;
  auto outlook = Outlook::none;
  for (Poller* poller : pollers_) outlook = std::max(outlook, poller->outlook());
  switch (outlook) {
    case Outlook::none: return false;
    case Outlook::soon:
      // Where spins have failed the peer may well be on this processor.
      if (spins_.next() == Duration::zero()) return yield(me, kYieldsForOne, false);
      return spin(me);
    case Outlook::one: return yield(me, kYieldsForOne, false);
    case Outlook::several: return yield(me, kYieldsForSeveral, false);
    case Outlook::sockets: return yield(me, kYieldsForSockets, true);
    case Outlook::relayed: return yield(me, kYieldsForRelays, true);
  }
  return false;
}

bool Loop::yield(Waiter& me, int times, bool asks_system) {
  const TimePoint until = std::min(me.deadline, timers_.next());
  TimePoint moment = now();
  bool goes_on = yields_.may_yield(moment);
  for (int i = 0; i < times && goes_on; ++i) {
    goes_on = step_aside(moment) && moment < until;
    if (poll_all() || (asks_system && poll_descriptors())) {
      flush();
      return true;
    }
    // Whoever held the baton meanwhile may have brought something.
    if (!inbox_.empty() || !soon_.empty() || me.is_done()) return true;
  }
  return false;
}

bool Loop::spin(Waiter& me) {
  me.spun = true;
  for (;;) {
    if (poll_all()) {
      // Not if it came from one who needed this processor for it.
      if (!me.spin.was_away) spins_.ended_awake();
      me.spin = {};
      flush();
      return true;
    }
    if (!inbox_.empty() || baton_.is_wanted()) return true;
    // Interrupted, it goes on where it was: visitors must not keep it awake.
    if (++me.spin.looks % kClockEvery == 0) {
      TimePoint moment = now();
      if (is_spin_over(me, moment)) return false;
      share_processor(me, moment);
      // Whoever held the baton meanwhile may have brought it, or left something for soon.
      if (!soon_.empty() || me.is_done()) return true;
    }
    pause();
  }
}

bool Loop::is_spin_over(Waiter& me, TimePoint moment) const {
  if (me.spin.until == TimePoint{}) me.spin.until = moment + spins_.next();
  if (moment < std::min({me.spin.until, me.deadline, timers_.next()})) return false;
  me.spin = {};
  return true;
}

// The peer itself, or others that are to answer, may have come to the processor of one
// who spins. What they take of it does not count.
void Loop::share_processor(Waiter& me, TimePoint moment) {
  if (!yields_.may_yield(moment)) return;
  const TimePoint before = moment;
  step_aside(moment);
  const Duration away = moment - before;
  me.spin.was_away |= away > kSwitch;
  me.spin.until += away;
}

// Lets others have the processor, from `moment` on, which is then the one when it is back.
// True if they did not keep it.
bool Loop::step_aside(TimePoint& moment) {
  const TimePoint before = moment;
  // Other threads of this process may need it meanwhile.
  give();
  ThreadEnv::yield();
  take();
  moment = now();
  return yields_.goes_on_after(moment - before, moment);
}

bool Loop::arm_all() {
  bool found = false;
  for (Poller* poller : pollers_) found |= poller->arm();
  return found;
}

void Loop::disarm_all() {
  is_armed_ = false;
  for (Poller* poller : pollers_) poller->disarm();
}

// True if the keeper was called because another thread has left something for soon.
bool Loop::park(Waiter& me) {
  // Nobody else does it while this one leads.
  if (!me.is_keeper && !soon_.empty()) return false;
  if (!is_armed_ && arm_all()) {
    disarm_all();
    return false;
  }
  is_armed_ = true;
  if (!me.is_keeper && options_.short_slices) choose_slice();
  me.is_asleep = me.is_parked = true;
  ++parked_;
  const TimePoint until = std::min(me.deadline, timers_.next());
  parked_until_ = until;
  const TimePoint start = now();
  const bool by_alarm = !me.is_keeper && options_.clock == &system_clock();
  if (by_alarm) alarm_.ring_by(until, start);
  const timespec timeout =
      to_timespec(until == kForever || until < start ? Duration() : until - start);
  const std::uint64_t left = leavings_.load(std::memory_order_relaxed);

  give();
  std::array<epoll_event, 64> events;
  const int count = sleep(me, events, by_alarm || until == kForever ? nullptr : &timeout);
  take();

  --parked_;
  me.is_asleep = me.is_parked = false;
  disarm_all();
  const TimePoint end = now();
  if (!me.is_keeper) {
    spins_.ended_asleep(end - start, std::exchange(me.spun, false));
    servant.service.has_slept(end - start);
  }
  const bool is_called = me.is_keeper && left != leavings_.load(std::memory_order_relaxed);
  if (count > 0) dispatch(std::span(events).first(count));
  if (!is_called) timers_.run(end);
  return is_called;
}

// While nobody waits for this thread.
void Loop::choose_slice() {
  servant.service.will_sleep(
      std::ranges::any_of(pollers_, [](Poller* poller) { return poller->has_woken_nobody(); }));
  const bool serves = servant.service.serves();
  serves ? servant.slice.halve() : servant.slice.restore();
  servant.yields_first = servant.slice.is_halved() && yields_.may_yield(now());
}

void Loop::leave_service() { servant.slice.restore(); }

int Loop::sleep(const Waiter& me, std::span<epoll_event> events, const timespec* patience) {
  if (me.is_keeper) return sleep_as_keeper(events, patience);
  // The usual one, and known to every kernel.
  if (patience == nullptr) {
    return epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
  }
  return epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), patience, nullptr);
}

void Loop::follow(Waiter& me) {
  me.is_asleep = true;
  me.word.store(0, std::memory_order_relaxed);
  give();
  if (me.deadline == kForever) {
    futex_wait(me.word, 0);
  } else {
    futex_wait(me.word, 0, me.deadline - now());
  }
  take();
  me.is_asleep = false;
}

void Loop::settle_waiters() {
  for (Waiter* waiter : waiters_) {
    if (waiter->is_asleep && waiter->is_done()) wake(*waiter);
  }
}

void Loop::wake(Waiter& waiter) {
  if (waiter.is_parked) return wake_parked();
  if (waiter.word.exchange(1, std::memory_order_relaxed) == 0) futex_wake(waiter.word);
}

void Loop::wake_parked() {
  const std::uint64_t one = 1;
  // Full or interrupted: it is then readable already.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

// The loop must not stand still because this thread has got what it wanted.
void Loop::pass_on() {
  if (leader_ != nullptr && !leader_->is_keeper) return;
  for (Waiter* waiter : waiters_) {
    if (waiter->is_asleep) return wake(*waiter);
  }
  if (keeper_sleeps_deep_) wake_keeper();
}

}  // namespace muster::loop
