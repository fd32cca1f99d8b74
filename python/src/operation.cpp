// What waits lets the interpreter's lock go and ends on Ctrl-C; the operation itself
// then goes on, and keeps its arrays until it is over.

#include "operation.h"

#include <string>
#include <utility>

#include "calls.h"
#include "collected.h"
#include "errors.h"
#include "interpreter.h"
#include "muster/msg/proxy_wait.h"

namespace muster::python {

using collectives::Communicator;
using collectives::Outcome;

Held::Held(std::shared_ptr<Communicator> communicator)
    : forks_(fork_count()), communicator_(std::move(communicator)) {}

Held::~Held() {
  if (communicator_ == nullptr) return;
  if (!is_of_this_process() || is_closing()) {
    static_cast<void>(new std::shared_ptr(std::move(communicator_)));
  } else if (PyGILState_Check() != 0) {
    // A function that reduces may want the lock before its thread can end.
    const Unlocked unlocked;
    communicator_.reset();
  }
}

bool Held::is_of_this_process() const { return forks_ == fork_count(); }

std::shared_ptr<Communicator> Held::communicator() const {
  const std::lock_guard lock(mutex_);
  return communicator_;
}

void Held::close() {
  closing_.request_stop();
  std::shared_ptr<Communicator> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(communicator_);
}

void PyOperation::State::end(Result<Outcome> with) {
  result = std::move(with);
  for (const auto& action : std::exchange(actions, {})) action();
}

PyOperation::PyOperation(std::shared_ptr<Held> held, loop::Loop& loop, loop::Future<Outcome> future,
                         Lending lending, std::optional<loop::Future<Outcome>> told)
    : held_(std::move(held)),
      loop_(&loop),
      state_(std::make_shared<State>()),
      value_(lending.value),
      verdict_(lending.verdict) {
  future.then(
      [state = state_, is_told = told.has_value(), lending](Result<Outcome> result) mutable {
        lending = {};
        if (is_told) {
          state->first = std::move(result);
        } else {
          state->end(std::move(result));
        }
      });
  if (!told) return;
  told->then([state = state_, verdict = verdict_](Result<Outcome> result) {
    const bool failed = state->first && !*state->first;
    state->end(failed ? *std::move(state->first) : std::move(result));
  });
}

bool PyOperation::is_done() const {
  const loop::Turn turn(loop());
  return state_->result.has_value();
}

Result<Outcome> PyOperation::outcome() const {
  const loop::Turn turn(loop());
  return *state_->result;
}

nb::object PyOperation::result(nb::handle timeout) const {
  const msg::Wait wait = to_wait(timeout);
  loop::Loop& here = loop();
  const auto waited = [&] {
    const Unlocked unlocked;
    return msg::internal::wait_for(here, wait, [&] { return state_->result.has_value(); });
  }();
  if (waited != msg::internal::Waited::done) {
    raise(msg::internal::why_not(waited, "wait for a collective"));
  }
  const Result<Outcome> ended = outcome();
  if (!ended) raise(ended.error());
  if (verdict_ != nullptr) raise_verdict();
  return value_ == nullptr ? nb::none() : nb::borrow(value_.get());
}

void PyOperation::raise_verdict() const {
  if (verdict_->raised != nullptr) {
    PyObject* raised = verdict_->raised.get();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
    throw nb::python_error();
  }
  if (verdict_->anyone > 0) {
    raise(Error(Code::failed, "a collective: the reduction's function raised on rank " +
                                  std::to_string(verdict_->anyone - 1)));
  }
}

nb::object PyOperation::contributors() const {
  if (!is_done()) {
    raise(Error(Code::invalid, "ask for contributors: the operation is under way; result() waits"));
  }
  const Result<Outcome> ended = outcome();
  if (!ended) raise(ended.error());
  return ended->contributors == nullptr ? nb::none() : nb::cast(*ended->contributors);
}

void PyOperation::notify(const Notifier& notifier, std::uint64_t token) const {
  const loop::Turn turn(loop());
  if (state_->result) return notifier.action(token)();
  state_->actions.push_back(notifier.action(token));
}

loop::Loop& PyOperation::loop() const {
  sleep_if_closing();
  if (!held_->is_of_this_process()) {
    raise(Error(Code::invalid,
                "an operation cannot be used in a child of its process; make a new communicator in "
                "the child"));
  }
  if (is_closing()) raise(Error(Code::cancelled, "use an operation: the interpreter is ending"));
  return *loop_;
}

void bind_operation(nb::module_& module) {
  nb::class_<PyOperation>(module, "Operation", nb::type_slots(kCollected<PyOperation>),
                          "A collective that is under way, or over.")
      .def("done", &PyOperation::is_done, "True once result() need not wait.")
      .def("result", &PyOperation::result, nb::arg("timeout").none() = nb::none(),
           "Waits for its end, and gives the array that it has written.")
      .def_prop_ro("contributors", &PyOperation::contributors,
                   "Of an elastic communicator's, once it is over: the ranks whose contributions "
                   "are in; None if all are.")
      .def("_notify", &PyOperation::notify)
      .def("__await__", [](nb::object self) {
        return call(
            call(nb::module_::import_("muster._aio").attr("future"), self).attr("__await__"));
      });
}

}  // namespace muster::python
