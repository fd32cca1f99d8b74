#include "muster/loop/testing/waiting_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/loop/testing/waiting_machine.h"

namespace muster::loop::testing {
namespace {

using waiting::At;
using waiting::kKeeper;
using waiting::Machine;
using waiting::Sleeper;
using waiting::State;

std::string key_of(const State& state) {
  std::string key(sizeof state, '\0');
  std::memcpy(key.data(), &state, sizeof state);
  return key;
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
