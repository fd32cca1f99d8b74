// The keeper: drives the loop while no user's thread does. Runs no user code.

#include <algorithm>
#include <array>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "muster/loop/loop.h"
#include "muster/loop/waiter.h"

namespace muster::loop {
namespace {

// How often the keeper looks after what was left for soon, and how many looks that find
// nothing it takes to go back to its other work. While one thing after the other is
// left, and done by others, it looks less and less often.
constexpr Duration kGlance = std::chrono::microseconds(100);
constexpr Duration kLongestGlance = 4 * kGlance;
constexpr int kIdleGlances = 10;

}  // namespace

void Loop::keep() {
  prctl(PR_SET_TIMERSLACK, 1);  // Or a glance would come twice as late.
  Waiter me;
  me.is_keeper = true;
  take();
  std::uint64_t seen = 0;
  while (!is_stopping_) {
    if (!soon_.empty()) watch_what_is_held();
    if (leader_ == nullptr && !is_driven_) {
      leader_ = &me;
      lead(me);
      if (leader_ == &me) leader_ = nullptr;
      continue;
    }
    // Threads that wait often are left alone and looked at again in a moment.
    // One that has been driving since the last look needs no looking after: it
    // wakes the keeper when it leaves.
    is_driven_ = false;
    const std::uint64_t drives = drives_.load(std::memory_order_relaxed);
    keeper_sleeps_deep_ = leader_ != nullptr && drives == seen;
    seen = drives;
    const std::uint32_t word = keeper_word_.load(std::memory_order_relaxed);
    const bool deep = keeper_sleeps_deep_;
    give();
    if (deep) {
      futex_wait(keeper_word_, word);
    } else {
      sleep_while_driven(word);
    }
    take();
    ++keeper_visits_;
    keeper_sleeps_deep_ = false;
    // Not for as long as the keeper has patience, unless it was called.
    if (word == keeper_word_.load(std::memory_order_relaxed)) is_driven_ = false;
  }
  give();
}

// Looks now and then without the baton whether anybody drives: those who do must not
// be held up only to be found at work. Ends when nobody has begun to for as long as
// the keeper has patience, or when it is called.
void Loop::sleep_while_driven(std::uint32_t word) {
  std::uint64_t seen = 0;
  do {
    seen = drives_.load(std::memory_order_relaxed);
    futex_wait(keeper_word_, word, options_.keeper_patience);
  } while (seen != drives_.load(std::memory_order_relaxed) &&
           word == keeper_word_.load(std::memory_order_relaxed));
}

// What was left for soon is done by whoever left it, once there is enough of it,
// or by the keeper when it has lain for a glance. To be called for each would
// cost more than it saves, so the keeper stays near while more comes.
void Loop::watch_what_is_held() {
  keeper_watches_ = true;
  Duration glance = kGlance;
  for (int idle = 0; idle < kIdleGlances && !is_stopping_; ++idle) {
    const std::uint32_t word = keeper_word_.load(std::memory_order_relaxed);
    give();
    glance = sleep_while_left_anew(word, glance);
    take();
    if (leader_ != nullptr) break;  // Who drives does what is left for soon.
    poll_all();
    timers_.run(now());
    poll_descriptors();
    if (flush_those_due()) idle = 0;
    flush();
  }
  keeper_watches_ = false;
}

// Glances without the baton, longer and longer ones, while all that was left for soon is
// done by others: it was left since the glance before, or somebody has driven since. For no
// longer than the keeper has patience with those who do not drive. Gives how long the next
// glance is to be.
Duration Loop::sleep_while_left_anew(std::uint32_t word, Duration glance) {
  std::uint64_t drives = drives_.load(std::memory_order_relaxed);
  Duration undriven{};
  while (undriven < options_.keeper_patience) {
    const std::uint64_t driven = drives;
    const std::uint64_t left = leavings_.load(std::memory_order_relaxed);
    futex_wait(keeper_word_, word, glance);
    if (word != keeper_word_.load(std::memory_order_relaxed)) return kGlance;
    drives = drives_.load(std::memory_order_relaxed);
    undriven = drives == driven ? undriven + glance : Duration::zero();
    if (drives == driven && left == leavings_.load(std::memory_order_relaxed)) return kGlance;
    glance = std::min(2 * glance, kLongestGlance);
  }
  return glance;
}

void Loop::wake_keeper() {
  keeper_sleeps_deep_ = false;
  is_driven_ = true;  // It looks for a moment before it drives.
  keeper_word_.fetch_add(1, std::memory_order_relaxed);
  futex_wake(keeper_word_);
}

// It looks at the epoll set from outside, and has a bell of its own: two threads
// inside would share one wake-up, and the one that is to leave could sleep on
// because the other took the event that was meant for it.
int Loop::sleep_as_keeper(std::span<epoll_event> events, const timespec* patience) {
  std::array<pollfd, 2> sources{{{epoll_, POLLIN, 0}, {keeper_bell_, POLLIN, 0}}};
  ppoll(sources.data(), sources.size(), patience, nullptr);
  if (sources[1].revents != 0) {
    eventfd_t calls = 0;
    eventfd_read(keeper_bell_, &calls);
    return 0;  // What there is in the set is another's.
  }
  return epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
}

void Loop::call_keeper_out() { eventfd_write(keeper_bell_, 1); }

}  // namespace muster::loop
