#include "muster/loop/testing/waiting_machine.h"

#include <algorithm>

namespace muster::loop::testing::waiting {

void Machine::give() {
  if (!is(WaitingMistake::sleepers_are_not_settled)) settle_waiters();
  if (any_parked()) rearm_for_sleepers();
}

void Machine::settle_waiters() {
  for (int user = 0; user < 2; ++user) {
    if (s.is_waiting[user] != 0 && is_asleep(user) && s.is_done[user] != 0) wake(user);
  }
}

void Machine::rearm_for_sleepers() {
  if (!is(WaitingMistake::visitors_do_not_rearm)) {
    while (s.is_armed == 0 && arm_all()) {
      disarm_all();
      poll_all();
      settle_waiters();
    }
    s.is_armed = 1;
  }
  if (is(WaitingMistake::timers_do_not_wake_sleepers)) return;
  if (s.timer < s.parked_until) wake_parked();
}

bool Machine::arm_all() {
  s.doorbell = 1;
  return s.published != s.seen;
}

void Machine::disarm_all() {
  s.is_armed = 0;
  s.doorbell = 0;
}

void Machine::poll_all() {
  s.seen = s.published;
  if (s.seen > 0) s.is_done[1] = 1;
}

void Machine::run_timers() {
  if (s.now < s.timer) return;
  s.timer = kForever;
  s.timer_rang = 1;
}

void Machine::dispatch(bool has_wake, bool has_ready) {
  if (has_wake && s.is_armed != 0 && !is(WaitingMistake::spent_ring_counts_as_armed)) disarm_all();
  if (has_ready) s.was_handled = 1;
}

void Machine::poll_descriptors() {
  const bool has_wake = s.wake_event != 0;
  const bool has_ready = s.ready_event != 0;
  s.wake_event = s.ready_event = 0;
  dispatch(has_wake, has_ready);
}

void Machine::work() {
  poll_all();
  if (choose()) {
    run_timers();
    poll_descriptors();
  }
}

void Machine::begin_or_follow(int me) {
  if (s.leader < kKeeper) {
    s.sleepers[me].at = At::following;
    s.sleepers[me].word = 0;
    return give();
  }
  const bool keeper_led = s.leader == kKeeper;
  s.leader = static_cast<Byte>(me);
  if (keeper_led && is_parked(kKeeper)) call_keeper_out();
  ++s.drives;
  s.is_driven = 1;
  lead(me);
}

// From the top of the round to the next moment without the baton.
void Machine::lead(int me) {
  if (choose()) {
    s.sleepers[me].at = At::gave_way;
    return give();
  }
  for (;;) {
    work();
    if (me != kKeeper && s.is_done[me] != 0) {
      s.leader = kNobody;
      return leave(me);
    }
    if (s.leader != me) return keep();
    settle_waiters();
    if (me != kKeeper && s.now >= deadline_of(me)) {
      s.leader = kNobody;
      return leave(me);
    }
    if (s.is_armed == 0 && arm_all()) {
      disarm_all();
      run_timers();
      continue;
    }
    return park(me);
  }
}

void Machine::park(int me) {
  s.is_armed = 1;
  Sleeper& it = s.sleepers[me];
  it.at = At::in_set;
  it.until = std::min(me == kKeeper ? kForever : deadline_of(me), s.timer);
  s.parked_until = it.until;
  give();
}

void Machine::fetch(Sleeper& it) {
  it.has_wake = s.wake_event;
  it.has_ready = s.ready_event;
  s.wake_event = s.ready_event = 0;
  it.at = At::fetched;
}

void Machine::leave_set(int me) {
  Sleeper& it = s.sleepers[me];
  const Sleeper before = it;
  it = {};
  disarm_all();
  dispatch(before.has_wake != 0, before.has_ready != 0);
  run_timers();
}

void Machine::leave(int me) {
  s.sleepers[me] = {};
  s.sleepers[me].at = At::ended;
  s.is_waiting[me] = 0;
  pass_on();
  give();
}

void Machine::pass_on() {
  if (s.leader < kKeeper || is(WaitingMistake::nobody_is_passed_the_lead)) return;
  for (int user = 0; user < 2; ++user) {
    if (s.is_waiting[user] != 0 && is_asleep(user)) return wake(user);
  }
  if (s.is_deep != 0 && !is(WaitingMistake::keeper_stays_in_deep_sleep)) wake_keeper();
}

void Machine::wake(int user) {
  if (is_parked(user)) return wake_parked();
  s.sleepers[user].word = 1;
}

void Machine::keep() {
  if (s.leader == kNobody && s.is_driven == 0) {
    s.leader = kKeeper;
    s.sleepers[kKeeper].at = At::start;
    return lead(kKeeper);
  }
  s.is_driven = 0;
  s.is_deep = s.leader != kNobody && s.drives == s.drives_seen;
  s.drives_seen = s.drives;
  s.sleepers[kKeeper].at = At::asleep;
  s.sleepers[kKeeper].word = 0;
  give();
}

void Machine::wake_keeper() {
  s.is_deep = 0;
  s.is_driven = 1;
  s.sleepers[kKeeper].word = 1;
}

void Machine::call_keeper_out() {
  if (is(WaitingMistake::keeper_is_not_called_out)) return;
  if (is(WaitingMistake::keeper_sleeps_in_the_set)) return wake_parked();
  s.keeper_bell = 1;
}

}  // namespace muster::loop::testing::waiting
