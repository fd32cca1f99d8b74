// What each actor of the model of waiting does when it is its turn.

#include <algorithm>

#include "muster/loop/testing/waiting_machine.h"

namespace muster::loop::testing::waiting {

bool Machine::step_user(int me) {
  Sleeper& it = s.sleepers[me];
  switch (it.at) {
    case At::start:
      if (s.is_done[me] != 0) {
        it.at = At::ended;
        give();
        return true;
      }
      s.is_waiting[me] = 1;
      begin_or_follow(me);
      return true;
    case At::gave_way:
      it.at = At::start;
      lead(me);
      return true;
    case At::following:
      if (it.word == 0 && s.now < deadline_of(me)) return false;
      it.at = At::start;
      if (s.is_done[me] != 0 || s.now >= deadline_of(me)) {
        leave(me);
      } else {
        begin_or_follow(me);
      }
      return true;
    case At::in_set:
      if (!may_wake(it)) return false;
      fetch(it);
      return true;
    case At::fetched:
      leave_set(me);
      lead(me);
      return true;
    default: return false;
  }
}

bool Machine::step_keeper() {
  Sleeper& it = s.sleepers[kKeeper];
  switch (it.at) {
    case At::start: keep(); return true;
    case At::gave_way:
      it.at = At::start;
      lead(kKeeper);
      return true;
    case At::asleep:
      if (s.is_deep != 0 && it.word == 0) return false;
      s.is_deep = 0;
      it.at = At::start;
      keep();
      return true;
    case At::in_set:
      if (is(WaitingMistake::keeper_sleeps_in_the_set)) {
        if (!may_wake(it)) return false;
        fetch(it);
        return true;
      }
      if (!may_wake(it) && s.keeper_bell == 0) return false;
      // It may have been called and not know it yet: then it fetches as well.
      it.at = s.keeper_bell != 0 && choose() ? At::fetched : At::woken;
      if (it.at == At::fetched) s.keeper_bell = 0;
      return it.at == At::fetched || may_wake(it);
    case At::woken: fetch(it); return true;
    case At::fetched:
      leave_set(kKeeper);
      lead(kKeeper);
      return true;
    default: return false;
  }
}

bool Machine::step_poster() {
  if (s.has_posted != 0) return false;
  s.has_posted = 1;
  s.is_done[0] = 1;
  give();
  return true;
}

// Publishes, then rings if the doorbell says so; then perhaps once more.
bool Machine::step_peer() {
  const int steps = scenario_.has_second_message ? 4 : 2;
  if (s.peer_at == steps) return false;
  if (s.peer_at++ % 2 == 0) {
    ++s.published;
    return true;
  }
  if (s.doorbell != 0) {
    s.doorbell = 0;
    s.wake_event = 1;
  }
  return true;
}

bool Machine::step_timer_setter() {
  if (!scenario_.has_timer || s.has_set_timer != 0) return false;
  s.has_set_timer = 1;
  s.timer = kTimerDue;
  give();
  return true;
}

bool Machine::step_descriptor() {
  if (!scenario_.has_descriptor || s.has_fired != 0) return false;
  s.has_fired = 1;
  s.ready_event = 1;
  return true;
}

bool Machine::step_looker() {
  if (!scenario_.has_looker || s.has_looked != 0) return false;
  s.has_looked = 1;
  poll_all();
  run_timers();
  poll_descriptors();
  give();
  return true;
}

bool Machine::step_clock() {
  if (s.now == kEndOfTime) return false;
  ++s.now;
  return true;
}

}  // namespace muster::loop::testing::waiting
