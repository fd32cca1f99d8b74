// A pure model of who waits and how: waiting.cpp and keeper.cpp, step by step.
//
// What a thread does between taking the baton and giving it up is one step
// (that the baton itself works is shown elsewhere); what it does without it,
// sleeping and fetching events, are steps of their own. check() goes through
// every state that two users' threads, the keeper, a poster, a peer process, a
// descriptor, a timer and the clock can reach together, and looks at each state
// in which nothing can happen any more.

#pragma once

#include <cstdint>
#include <string>

namespace muster::loop::testing {

// What can be wrong with it. Each is one line of waiting.cpp, keeper.cpp or loop.cpp.
enum class WaitingMistake : std::uint8_t {
  none,
  keeper_sleeps_in_the_set,     // It shares wake-ups with a user's thread.
  spent_ring_counts_as_armed,   // An event taken by a thread that only looked.
  nobody_is_passed_the_lead,    // pass_on() does nothing.
  keeper_stays_in_deep_sleep,   // pass_on() forgets the keeper.
  keeper_is_not_called_out,     // By a user's thread that takes over.
  sleepers_are_not_settled,     // give() does not ask who is done.
  timers_do_not_wake_sleepers,  // One that is set while all sleep.
  visitors_do_not_rearm,        // Who leaves the set disarms for those inside.
};

struct WaitingScenario {
  int users = 2;               // How many threads wait, once each.
  bool has_deadlines = false;  // The first user's wait ends by time, at 1.
  bool has_timer = false;      // Set by a visitor at any moment, due at 2.
  bool has_descriptor = false;
  bool has_second_message = false;  // Of the peer, after what the users wait for.
  bool has_looker = false;          // A thread that calls run_ready() once.
};

struct WaitingOutcome {
  bool is_ok = false;
  std::size_t states = 0;
  std::string transcript;  // The shortest way to the state that is wrong.
};

// User 0 waits for a task that is posted, user 1 for a message of the peer's.
WaitingOutcome check_waiting(const WaitingScenario& scenario,
                             WaitingMistake mistake = WaitingMistake::none);

}  // namespace muster::loop::testing
