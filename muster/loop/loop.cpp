#include "muster/loop/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/loop/waiter.h"

namespace muster::loop {
namespace {

// Rounds of polling between two looks at the timers, and at epoll: both cost
// more than a round, and neither may starve.
constexpr std::uint32_t kTimersEvery = 8;
constexpr std::uint32_t kDescriptorsEvery = 64;

// Rounds of polling that a thread does for others who sleep.
constexpr int kVisitorRounds = 4;

}  // namespace

constinit thread_local const Loop* Loop::held_ = nullptr;

Result<std::unique_ptr<Loop>> Loop::make(LoopOptions options) {
  std::unique_ptr<Loop> loop(new Loop(options));
  MUSTER_TRY_OK(loop->open());
  return loop;
}

Loop::Loop(const LoopOptions& options) : options_(options), spins_(options.spin) {
#ifndef NDEBUG
  timers_.check_by([this] { check_held(); });
#endif
}

Status Loop::open() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return system_error(Code::overloaded, "make an epoll descriptor", errno);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return system_error(Code::overloaded, "make an eventfd", errno);
  MUSTER_TRY_OK(alarm_.open());
  MUSTER_TRY_OK(wake_by(wake_));
  MUSTER_TRY_OK(wake_by(alarm_.descriptor()));
  if (!options_.keeper) return ok();
  keeper_bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (keeper_bell_ < 0) return system_error(Code::overloaded, "make an eventfd", errno);
  keeper_ = std::thread([this] { keep(); });
  return ok();
}

// Edge-triggered, so that a wake-up needs no read to clear it.
Status Loop::wake_by(int descriptor) {
  epoll_event event{EPOLLIN | EPOLLET, {.u64 = 0}};
  event.data.u64 = static_cast<std::uint64_t>(descriptor);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return ok();
  return system_error(Code::internal, "watch a wake-up descriptor", errno);
}

Loop::~Loop() {
  if (keeper_.joinable()) {
    {
      const Turn turn(*this);
      is_stopping_ = true;
      wake_keeper();
      call_keeper_out();
    }
    keeper_.join();
  }
  // Tasks that are still in the inbox may hold what must go before the loop.
  take();
  inbox_.drain([](auto& task) { task(); });
  flush();
  timers_.check_by(nullptr);
  held_ = outer_;
  baton_.release();
  leave_service();
  for (const int descriptor : {epoll_, wake_, keeper_bell_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

bool Loop::is_held_outside() const {
  const Loop* held = held_;
  while (held != nullptr && held != this) held = held->outer_;
  return held == this;
}

void Loop::check_held_outside() const {
  MUSTER_CHECK(is_held(), "the caller holds the loop's baton");
}

inline void Loop::settle() {
  inbox_.drain([](auto& task) { task(); });
  if (!flushers_.empty()) flush();
  if (!waiters_.empty()) settle_waiters();
  if (parked_ > 0) rearm_for_sleepers();
}

void Loop::give() {
  for (;;) {
    settle();
    held_ = outer_;
    if (baton_.give([this] { return !inbox_.empty(); })) return;
    mark_held();
  }
}

void Loop::give_way() {
  give();
  baton_.stand_back();
  take();
}

void Loop::post(std::function<void()> task) {
  inbox_.push(std::move(task));
  if (is_held() || !baton_.try_take()) return;
  mark_held();
  give();
}

void Loop::rearm_for_sleepers() {
  for (int round = 0; !is_armed_ && arm_all(); ++round) {
    disarm_all();
    // It does not end: that is for those who sleep to do.
    if (round == kVisitorRounds) return wake_parked();
    poll_all();
    flush();
    settle_waiters();
  }
  is_armed_ = true;
  // Nor must they sleep past a timer that was set meanwhile.
  if (timers_.next() < parked_until_) wake_parked();
}

void Loop::flush() {
  // By index: flushing may queue more.
  for (std::size_t i = 0; i < flushers_.size(); ++i) {
    Flusher* const flusher = flushers_[i];
    if (flusher == nullptr) continue;
    flusher->is_queued = false;
    flusher->flush();
  }
  flushers_.clear();
}

void Loop::flush_later(Flusher& flusher) {
  if (flusher.is_queued) return;
  flusher.is_queued = true;
  flushers_.push_back(&flusher);
}

void Loop::flush_soon(Flusher& flusher) {
  if (flusher.is_due_soon) return;
  flusher.is_due_soon = true;
  soon_.push_back(&flusher);
  leavings_.store(leavings_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (leader_ != nullptr && !leader_->is_keeper) {
    // It drives, and does this next; asleep, it must be told.
    if (parked_ > 0) wake_parked();
    return;
  }
  if (keeper_watches_) return;
  if (leader_ == nullptr) return wake_keeper();
  // Awake, the keeper is the one who leaves it, and does it in its next round.
  if (parked_ > 0) call_keeper_out();
}

bool Loop::flush_those_due() {
  if (soon_.empty()) return false;
  for (Flusher* flusher : soon_) {
    flusher->is_due_soon = false;
    flush_later(*flusher);
  }
  soon_.clear();
  return true;
}

void Loop::forget(Flusher& flusher) {
  if (flusher.is_queued) {
    flusher.is_queued = false;
    std::ranges::replace(flushers_, &flusher, static_cast<Flusher*>(nullptr));
  }
  take_back(flusher);
}

void Loop::take_back(Flusher& flusher) {
  if (!flusher.is_due_soon) return;
  flusher.is_due_soon = false;
  std::erase(soon_, &flusher);
}

void Loop::add(Poller& poller) {
  check_held();
  // Those who sleep must be armed for this one too.
  if (is_armed_) disarm_all();
  pollers_.push_back(&poller);
}

void Loop::remove(Poller& poller) {
  check_held();
  std::erase(pollers_, &poller);
}

Status Loop::watch(int descriptor, std::uint32_t events, FdHandler& handler) {
  if (static_cast<std::size_t>(descriptor) >= slots_.size()) slots_.resize(descriptor + 1);
  Slot& slot = slots_[descriptor];
  MUSTER_CHECK(slot.handler == nullptr, "a descriptor is watched once");
  ++slot.generation;
  epoll_event event{events, {.u64 = 0}};
  event.data.u64 = static_cast<std::uint64_t>(slot.generation) << 32 | descriptor;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return system_error(Code::overloaded, "watch a descriptor", errno);
  }
  slot.handler = &handler;
  return ok();
}

void Loop::change(int descriptor, std::uint32_t events) {
  epoll_event event{events, {.u64 = 0}};
  event.data.u64 = static_cast<std::uint64_t>(slots_[descriptor].generation) << 32 | descriptor;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event);
}

void Loop::unwatch(int descriptor) {
  // The generation stays, so that an event that another thread has already
  // fetched finds nobody.
  slots_[descriptor].handler = nullptr;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
}

void Loop::dispatch(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) {
    const auto descriptor = static_cast<std::uint32_t>(event.data.u64);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
    // Whoever rang finds the doorbell spent from now on, even if the ring was
    // meant for a thread that still sleeps.
    if (is_armed_ && static_cast<int>(descriptor) == wake_) disarm_all();
    // Nor does the alarm ring twice: who sleeps has not heard it.
    if (parked_ > 0 && static_cast<int>(descriptor) == alarm_.descriptor()) {
      alarm_.ring_by(parked_until_, now());
    }
    if (descriptor >= slots_.size()) continue;
    const Slot& slot = slots_[descriptor];
    if (slot.handler != nullptr && slot.generation == generation) {
      slot.handler->on_ready(event.events);
    }
  }
}

bool Loop::poll_descriptors() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), events.size(), 0);
  if (count <= 0) return false;
  dispatch(std::span(events).first(count));
  return true;
}

bool Loop::poll_all() {
  bool busy = false;
  // By index: a poller may add or remove one.
  for (std::size_t i = 0; i < pollers_.size(); ++i) busy |= pollers_[i]->poll();
  return busy;
}

bool Loop::work() {
  bool busy = !inbox_.empty();
  inbox_.drain([](auto& task) { task(); });
  busy |= poll_all();
  ++rounds_;
  if (rounds_ % kTimersEvery == 0 && timers_.next() != kForever) busy |= timers_.run(now());
  if (rounds_ % kDescriptorsEvery == 0) busy |= poll_descriptors();
  return finish_round(busy);
}

bool Loop::work_through() {
  bool busy = !inbox_.empty();
  inbox_.drain([](auto& task) { task(); });
  busy |= poll_all();
  busy |= timers_.run(now());
  busy |= poll_descriptors();
  return finish_round(busy);
}

bool Loop::run_ready() {
  const Turn turn(*this);
  return work_through();
}

bool Loop::finish_round(bool busy) {
  busy |= flush_those_due();
  flush();
  // What flushing has left for soon must not find everyone asleep.
  return busy || !soon_.empty();
}

}  // namespace muster::loop
