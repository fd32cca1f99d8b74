#include "muster/loop/testing/waiting_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::loop::testing {
namespace {

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

std::string key_of(const State& state) {
  std::string key(sizeof state, '\0');
  std::memcpy(key.data(), &state, sizeof state);
  return key;
}

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

// What is wrong with a state in which nothing can happen any more. Null: nothing.
const char* what_is_wrong(const State& s, const WaitingScenario& scenario) {
  for (int user = 0; user < scenario.users; ++user) {
    if (s.sleepers[user].at != At::ended) return "a user's thread sleeps on";
  }
  if (s.seen != s.published) return "a message lies unseen";
  if (s.has_set_timer != 0 && s.timer_rang == 0) return "a timer is not met";
  if (s.has_fired != 0 && s.was_handled == 0) return "a descriptor's event is not handled";
  if (s.leader != kKeeper) return "nobody drives";
  if (s.doorbell == 0) return "the driver sleeps where no peer can wake it";
  return nullptr;
}

struct Actor {
  const char* name;
  bool (*step)(Machine&);
};

constexpr std::array<Actor, 9> kActors{{
    {"user 0", [](Machine& m) { return m.step_user(0); }},
    {"user 1", [](Machine& m) { return m.step_user(1); }},
    {"keeper", [](Machine& m) { return m.step_keeper(); }},
    {"poster", [](Machine& m) { return m.step_poster(); }},
    {"peer", [](Machine& m) { return m.step_peer(); }},
    {"timer setter", [](Machine& m) { return m.step_timer_setter(); }},
    {"descriptor", [](Machine& m) { return m.step_descriptor(); }},
    {"looker", [](Machine& m) { return m.step_looker(); }},
    {"clock", [](Machine& m) { return m.step_clock(); }},
}};

std::string_view text(At at) {
  constexpr std::array<std::string_view, 8> kNames{"start", "gave way", "following", "in set",
                                                   "woken", "fetched",  "asleep",    "ended"};
  return kNames[static_cast<std::size_t>(at)];
}

std::string describe(const State& s) {
  std::ostringstream out;
  for (const Sleeper& it : s.sleepers) out << text(it.at) << ", ";
  out << "leader " << int{s.leader} << ", armed " << int{s.is_armed} << ", bell " << int{s.doorbell}
      << ", event " << int{s.wake_event} << ", now " << int{s.now};
  return out.str();
}

// Breadth first, so that the way to a mistake is a shortest one.
class Search {
 public:
  Search(const WaitingScenario& scenario, WaitingMistake mistake)
      : scenario_(scenario), mistake_(mistake) {}

  WaitingOutcome run() {
    State first;
    if (scenario_.users < 2) first.sleepers[1].at = At::ended;
    found(first, 0, "start");
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      if (follow(i)) continue;
      if (const char* wrong = what_is_wrong(reached_[i].state, scenario_)) {
        return {false, reached_.size(), wrong + transcript(i)};
      }
    }
    return {true, reached_.size(), ""};
  }

 private:
  struct Reached {
    State state;
    std::size_t from;
    const char* by;
  };

  // False if nothing can happen in that state.
  bool follow(std::size_t index) {
    bool any = false;
    const State state = reached_[index].state;
    for (const Actor& actor : kActors) {
      for (std::optional<unsigned> choices = 0; choices;) {
        Machine machine(state, scenario_, mistake_, *choices);
        const bool happens = actor.step(machine);
        choices = machine.next_choices();
        if (!happens) continue;
        any = true;
        found(machine.s, index, actor.name);
      }
    }
    return any;
  }

  void found(const State& state, std::size_t from, const char* by) {
    if (known_.emplace(key_of(state), reached_.size()).second) {
      reached_.push_back({state, from, by});
    }
  }

  std::string transcript(std::size_t index) const {
    std::deque<std::string> lines;
    for (; index != 0; index = reached_[index].from) {
      lines.push_front(std::string("\n") + reached_[index].by + ": " +
                       describe(reached_[index].state));
    }
    std::string all;
    for (const std::string& line : lines) all += line;
    return all;
  }

  const WaitingScenario& scenario_;
  WaitingMistake mistake_;
  std::deque<Reached> reached_;
  std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace

WaitingOutcome check_waiting(const WaitingScenario& scenario, WaitingMistake mistake) {
  return Search(scenario, mistake).run();
}

}  // namespace muster::loop::testing
