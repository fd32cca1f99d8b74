#include "muster/loop/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/base/check.h"

namespace muster::loop {
namespace {

// The loop whose baton this thread holds. One at a time: a callback of one
// loop never waits for another's.
thread_local const Loop* held_loop = nullptr;

// Rounds of polling between two looks at the timers, and at epoll: both cost
// more than a round, and neither may starve.
constexpr std::uint32_t kTimersEvery = 8;
constexpr std::uint32_t kDescriptorsEvery = 64;

}  // namespace

Result<std::unique_ptr<Loop>> Loop::make(LoopOptions options) {
  std::unique_ptr<Loop> loop(new Loop(options));
  MUSTER_TRY_OK(loop->open());
  return loop;
}

Status Loop::open() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return system_error(Code::overloaded, "make an epoll descriptor", errno);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return system_error(Code::overloaded, "make an eventfd", errno);
  // Edge-triggered, so that a wake-up needs no read to clear it.
  epoll_event event{EPOLLIN | EPOLLET, {.u64 = 0}};
  event.data.u64 = static_cast<std::uint64_t>(wake_);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    return system_error(Code::internal, "watch the wake-up descriptor", errno);
  }
  if (options_.keeper) keeper_ = std::thread([this] { keep(); });
  return ok();
}

Loop::~Loop() {
  if (keeper_.joinable()) {
    {
      const Turn turn(*this);
      is_stopping_ = true;
      wake_keeper();
      wake_parked();
    }
    keeper_.join();
  }
  // Tasks that are still in the inbox may hold what must go before the loop.
  take();
  inbox_.drain([](auto& task) { task(); });
  flush();
  held_loop = nullptr;
  baton_.release();
  if (epoll_ >= 0) close(epoll_);
  if (wake_ >= 0) close(wake_);
}

bool Loop::is_held() const { return held_loop == this; }

void Loop::check_held() const { MUSTER_CHECK(is_held(), "the caller holds the loop's baton"); }

void Loop::take() {
  baton_.take();
  held_loop = this;
}

void Loop::give() {
  do {
    held_loop = this;
    settle();
    held_loop = nullptr;
  } while (!baton_.give([this] { return !inbox_.empty(); }));
}

void Loop::post(std::function<void()> task) {
  inbox_.push(std::move(task));
  if (is_held() || !baton_.try_take()) return;
  held_loop = this;
  give();
}

void Loop::settle() {
  inbox_.drain([](auto& task) { task(); });
  flush();
  if (!waiters_.empty()) settle_waiters();
  if (parked_ > 0) rearm_for_sleepers();
}

void Loop::rearm_for_sleepers() {
  while (!is_armed_ && arm_all()) {
    disarm_all();
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
  if (parked_ > 0) return wake_parked();
  if (leader_ == nullptr) wake_keeper();
}

bool Loop::flush_those_due() {
  if (soon_.empty()) return false;
  const std::vector<Flusher*> due = std::exchange(soon_, {});
  for (Flusher* flusher : due) {
    flusher->is_due_soon = false;
    flush_later(*flusher);
  }
  return true;
}

void Loop::forget(Flusher& flusher) {
  if (flusher.is_queued) {
    flusher.is_queued = false;
    std::ranges::replace(flushers_, &flusher, static_cast<Flusher*>(nullptr));
  }
  if (flusher.is_due_soon) {
    flusher.is_due_soon = false;
    std::erase(soon_, &flusher);
  }
}

void Loop::add(Poller& poller) { pollers_.push_back(&poller); }

void Loop::remove(Poller& poller) { std::erase(pollers_, &poller); }

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
    if (static_cast<int>(descriptor) == wake_ || descriptor >= slots_.size()) continue;
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
  busy |= flush_those_due();
  flush();
  return busy;
}

bool Loop::run_ready() {
  const Turn turn(*this);
  bool busy = !inbox_.empty();
  inbox_.drain([](auto& task) { task(); });
  busy |= poll_all();
  busy |= timers_.run(now());
  busy |= poll_descriptors();
  busy |= flush_those_due();
  flush();
  return busy;
}

}  // namespace muster::loop
