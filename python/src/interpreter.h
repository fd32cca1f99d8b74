// What the bindings must know of the interpreter: its lock, its signals, its end.
//
// The rule that makes it all work: nobody waits for the interpreter's lock while
// holding the loop's baton. What must be let go under the baton is left in the
// graveyard, and buried by the next thread that has the lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "binding.h"
#include "muster/msg/wait.h"

namespace muster::python {

// Lets other Python threads run while it lives. Once the interpreter is about to
// end, a thread that comes back for the lock sleeps for good: it is one that
// nobody waits for, and to be thrown out of C++ by Python would not end well.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() noexcept(false);  // Never throws; a thread may be ended in it.
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// Copies of so many bytes and more let others run meanwhile.
inline constexpr std::size_t kUnlockFrom = std::size_t{1} << 20;

// A thread that Python ends, once the interpreter does, is unwound through our frames without the
// lock: it sleeps for good where it comes by this.
void stay_if_ended();
// For such a thread that has come as far as to Python's own frames.
[[noreturn]] void stay_for_good();
// Lets nanobind do so, which takes the end of a thread for an exception and finds none.
void keep_ended_threads();
// Stays, if ended, at the end of its block.
class Stays {
 public:
  Stays() = default;
  ~Stays() { stay_if_ended(); }
  Stays(const Stays&) = delete;
  Stays& operator=(const Stays&) = delete;
};

// Has the lock while it lives, on a thread that may never have had it.
class Locked {
 public:
  Locked() : state_(PyGILState_Ensure()) {}
  ~Locked() {
    stay_if_ended();
    PyGILState_Release(state_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const Stays stays_;  // It may also be ended while it waits for the lock.
  PyGILState_STATE state_;
};

// callable(arguments...), of Python's: what the frames around it hold is not let go without the
// lock if Python ends the thread in there.
template <class... Arguments>
nb::object call(nb::handle callable, Arguments&&... arguments) {
  const Stays stays;
  return callable(std::forward<Arguments>(arguments)...);
}

// Any thread, with the lock or without: `object` is let go soon.
void bury(PyObject* object);
// Needs the lock. Lets go of what was buried.
void empty_graveyard();

// How often this process was forked off another: what belongs to an earlier
// one must not be touched, only forgotten.
std::uint32_t fork_count();

// The interpreter is about to end, by the calling thread: others come back from
// no call any more.
void begin_closing();
bool is_closing();
// For other threads, once it is: sleeps for good, without the lock.
void sleep_if_closing();

// How long a call may wait; none is for ever. Signals end it, by their handlers'
// exceptions, and so does the interpreter's end.
msg::Wait wait_for(std::optional<double> seconds, std::stop_token stop = {});
// Whether it is no error, but the end of the program: Ctrl-C, sys.exit().
bool is_exit(const nb::python_error& raised);
// For what an exit cannot be thrown through: the main thread raises it, soon, as Ctrl-C would be.
// Needs the lock.
void raise_in_main_thread(nb::python_error raised);

// After a call that waited: raises what a signal's handler raised in it, if any.
void raise_signal();

void watch_forks();

}  // namespace muster::python
