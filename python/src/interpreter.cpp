#include "interpreter.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace muster::python {
namespace {

std::atomic<std::uint32_t> forks{0};
std::atomic<bool> closing{false};
std::atomic<std::thread::id> closer{};

struct Graveyard {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> is_used{false};
  std::atomic<bool> is_called{false};  // The interpreter has been asked to come by.
};
// Never destroyed: threads may still bury while the process ends.
Graveyard& graveyard() {
  static auto* const it = new Graveyard;
  return *it;
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// PyGILState_Check() says yes to everyone once the interpreter has ended.
bool has_lock() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState* const holder = PyThreadState_GetUnchecked();
#else
  PyThreadState* const holder = _PyThreadState_UncheckedGet();
#endif
  return holder != nullptr && holder == PyGILState_GetThisThreadState();
}

bool must_sleep() {
  if (!closing.load(std::memory_order_relaxed) && !is_finalizing()) return false;
  return closer.load() != std::this_thread::get_id();
}

int come_by(void*) {
  graveyard().is_called = false;
  empty_graveyard();
  return 0;
}

// For the main thread: guarded by the lock.
std::vector<nb::python_error>& exits() {
  static auto* const them = new std::vector<nb::python_error>;
  return *them;
}

int raise_exit(void*) {
  if (exits().empty()) return 0;
  nb::python_error raised = std::move(exits().back());
  exits().clear();
  raised.restore();
  return -1;
}

// Asked by threads that wait. The exception of a handler stays set in the
// thread's state, for raise_signal().
bool is_interrupted() {
  if (closing.load(std::memory_order_relaxed) || is_finalizing()) return true;
  const Locked locked;
  return PyErr_CheckSignals() != 0 || Py_MakePendingCalls() != 0;
}

void forked() {
  forks.fetch_add(1, std::memory_order_relaxed);
  // Whoever held it is not here; what lies there belongs to the parent's threads.
  new (&graveyard()) Graveyard;
}

}  // namespace

Unlocked::~Unlocked() noexcept(false) {
  while (must_sleep()) pause();
  {
    const Stays stays;  // The interpreter may end while this thread waits for the lock.
    PyEval_RestoreThread(state_);
  }
  if (graveyard().is_used.load(std::memory_order_relaxed)) empty_graveyard();
}

void bury(PyObject* object) {
  if (object == nullptr) return;
  Graveyard& yard = graveyard();
  {
    const std::lock_guard lock(yard.mutex);
    yard.objects.push_back(object);
  }
  yard.is_used = true;
  if (!yard.is_called.exchange(true) && Py_AddPendingCall(come_by, nullptr) != 0) {
    yard.is_called = false;  // Its list is full: the next one asks again.
  }
}

void empty_graveyard() {
  Graveyard& yard = graveyard();
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(yard.mutex);
    objects.swap(yard.objects);
    yard.is_used = false;
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

std::uint32_t fork_count() { return forks.load(std::memory_order_relaxed); }
bool is_closing() { return closing; }

void begin_closing() {
  closer = std::this_thread::get_id();
  closing = true;
}

void sleep_if_closing() {
  if (!must_sleep()) return;
  PyEval_SaveThread();
  stay_for_good();
}

void stay_if_ended() {
  // Whoever has let the lock go by itself would not get it back either.
  while (must_sleep() && !has_lock()) pause();
}

void stay_for_good() {
  for (;;) pause();
}

void keep_ended_threads() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    if (thrown == nullptr) stay_for_good();
    std::rethrow_exception(thrown);
  });
}

bool is_exit(const nb::python_error& raised) {
  return PyErr_GivenExceptionMatches(raised.type().ptr(), PyExc_Exception) == 0;
}

void raise_in_main_thread(nb::python_error raised) {
  exits().push_back(std::move(raised));
  static_cast<void>(Py_AddPendingCall(raise_exit, nullptr));
}

msg::Wait wait_for(std::optional<double> seconds, std::stop_token stop) {
  constexpr double kLongest = 1e9;
  if (!seconds || *seconds >= kLongest) {
    return msg::Wait(std::move(stop)).asking(is_interrupted);
  }
  if (std::isnan(*seconds)) throw nb::value_error("a timeout is a number of seconds, or None");
  const double sane = *seconds > 0 ? *seconds : 0;
  const auto duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(sane));
  return msg::Wait(duration, std::move(stop)).asking(is_interrupted);
}

void raise_signal() {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
}

void watch_forks() { pthread_atfork(nullptr, nullptr, forked); }

}  // namespace muster::python
