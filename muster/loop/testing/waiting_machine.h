// What the model of waiting knows of the world, and the rules by which it changes.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "muster/loop/testing/waiting_model.h"

namespace muster::loop::testing::waiting {

using Byte = std::uint8_t;

constexpr Byte kForever = 9;
constexpr Byte kEndOfTime = 3;
constexpr Byte kDeadline = 1;
constexpr Byte kTimerDue = 2;
constexpr int kKeeper = 2;  // After users 0 and 1.
constexpr Byte kNobody = 3;

enum class At : Byte {
  start,      // Of a wait; of the keeper's loop.
  gave_way,   // Leads, but has let another take the baton for a moment.
  following,  // Asleep on its own word.
  in_set,     // Asleep in epoll, or the keeper beside it.
  woken,      // The keeper, before it fetches events.
  fetched,    // Has events, wants the baton.
  asleep,     // The keeper, on its word.
  ended,
};

struct Sleeper {
  At at = At::start;
  Byte until = kForever;
  Byte has_wake = 0;  // Fetched: the wake-up descriptor's event.
  Byte has_ready = 0;
  Byte word = 0;
};

// All bytes, so that it can be compared and hashed as such.
struct State {
  std::array<Sleeper, 3> sleepers;  // Users, then the keeper.
  std::array<Byte, 2> is_waiting{};
  std::array<Byte, 2> is_done{};
  Byte now = 0;
  Byte leader = kNobody;
  Byte is_armed = 0;
  Byte parked_until = 0;
  Byte wake_event = 0;   // The eventfd's edge, not yet fetched by anyone.
  Byte ready_event = 0;  // The descriptor's.
  Byte keeper_bell = 0;
  Byte is_driven = 0;
  Byte drives = 0;
  Byte drives_seen = 0;
  Byte is_deep = 0;
  Byte timer = kForever;
  Byte doorbell = 0;  // The word that the peer reads.
  Byte published = 0;
  Byte seen = 0;
  // The world's own progress.
  Byte has_posted = 0;
  Byte has_looked = 0;
  Byte peer_at = 0;
  Byte has_set_timer = 0;
  Byte timer_rang = 0;
  Byte has_fired = 0;
  Byte was_handled = 0;
};

// One state and the rules by which it changes. Choices that code makes by
// counters (every 8th, every 64th round) or by luck are left open: a step is
// tried with each value of `choices`.
class Machine {
 public:
  Machine(const State& state, const WaitingScenario& scenario, WaitingMistake mistake,
          unsigned choices)
      : s(state), scenario_(scenario), mistake_(mistake), choices_(choices) {}

  State s;

  // The choices to try after these, or nothing if these were the last.
  std::optional<unsigned> next_choices() const {
    for (int bit = asked_ - 1; bit >= 0; --bit) {
      if ((choices_ >> bit & 1) == 0) return (choices_ & ((1u << bit) - 1)) | 1u << bit;
    }
    return std::nullopt;
  }

  bool step_user(int me);
  bool step_keeper();
  bool step_poster();
  bool step_peer();
  bool step_timer_setter();
  bool step_descriptor();
  bool step_looker();
  bool step_clock();

 private:
  bool is(WaitingMistake mistake) const { return mistake_ == mistake; }
  bool choose() { return (choices_ >> asked_++ & 1) != 0; }

  // loop.cpp
  void give();
  void settle_waiters();
  void rearm_for_sleepers();
  void work();
  void poll_descriptors();
  void poll_all();
  void run_timers();
  void dispatch(bool wake, bool ready);
  // waiting.cpp
  void begin_or_follow(int me);
  void lead(int me);
  void park(int me);
  void leave_set(int me);
  void leave(int me);
  void pass_on();
  void wake(int user);
  void wake_parked() { s.wake_event = 1; }
  // keeper.cpp
  void keep();
  void wake_keeper();
  void call_keeper_out();

  bool arm_all();
  void disarm_all();
  bool is_parked(int who) const {
    const At at = s.sleepers[who].at;
    return at == At::in_set || at == At::woken || at == At::fetched;
  }
  bool is_asleep(int user) const { return is_parked(user) || s.sleepers[user].at == At::following; }
  bool any_parked() const { return is_parked(0) || is_parked(1) || is_parked(kKeeper); }
  Byte deadline_of(int me) const {
    return me == 0 && scenario_.has_deadlines ? kDeadline : kForever;
  }
  bool may_wake(const Sleeper& it) const {
    return s.wake_event != 0 || s.ready_event != 0 || s.now >= it.until;
  }
  void fetch(Sleeper& it);

  const WaitingScenario& scenario_;
  WaitingMistake mistake_;
  unsigned choices_;
  int asked_ = 0;
};

}  // namespace muster::loop::testing::waiting
