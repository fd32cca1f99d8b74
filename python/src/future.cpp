// result() lets the interpreter's lock go while it waits.

#include "future.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "calls.h"
#include "collected.h"
#include "errors.h"
#include "interpreter.h"
#include "muster/msg/proxy_wait.h"
#include "notifier.h"
#include "process.h"
#include "proxy_handle.h"

namespace muster::python {
namespace {

// Guarded by the baton.
struct Outcome {
  std::optional<Result<msg::Message>> result;
  std::vector<std::function<void()>> actions;
};

class PyFuture {
 public:
  PyFuture(nb::object proxy, loop::Loop& loop, msg::PendingReply reply)
      : session_(reply.session()),
        loop_(loop),
        proxy_(std::move(proxy)),
        outcome_(std::make_shared<Outcome>()) {
    reply.then([outcome = outcome_](Result<msg::Message> result) {
      outcome->result = std::move(result);
      for (const auto& action : std::exchange(outcome->actions, {})) action();
    });
  }
  PyFuture(loop::Loop& loop, Borrowed loan, msg::SessionId id)
      : session_(id), loop_(loop), loan_(std::move(loan)), value_(nb::cast(id)) {}

  // None: nothing was sent.
  nb::object session() const { return session_ ? nb::cast(session_) : nb::none(); }

  bool is_done() const {
    check_open();
    if (loan_) return loan_->is_out();
    const loop::Turn turn(loop_);
    return outcome_->result.has_value();
  }

  void notify(const Notifier& notifier, std::uint64_t token) const {
    check_open();
    if (loan_) return loan_->when_out(notifier.action(token));
    const loop::Turn turn(loop_);
    if (outcome_->result) return notifier.action(token)();
    outcome_->actions.push_back(notifier.action(token));
  }

  nb::object result(nb::handle timeout) {
    if (!is_done()) wait(to_wait(timeout));
    if (!value_.is_valid()) {
      const Result<msg::Message> result = [&] {
        const loop::Turn turn(loop_);
        return *outcome_->result;
      }();
      if (!result) raise(result.error());
      value_ = give(to_handle(proxy_), *result);
    }
    return value_;
  }

  // For collected.h. The proxy lets go of what refers to this.
  template <class Visit>
  int each_held(Visit visit) const {
    if (const int stops = visit(proxy_.ptr())) return stops;
    return visit(value_.ptr());
  }
  void let_go() { value_.reset(); }

 private:
  void check_open() const {
    sleep_if_closing();
    if (forks_ != fork_count()) {
      raise(Error(Code::invalid,
                  "a future cannot be used in a child of its process; ask anew in the child"));
    }
    if (is_closing()) raise(Error(Code::cancelled, "use a future: the interpreter is ending"));
  }

  void wait(const msg::Wait& wait) const {
    check_open();
    const auto waited = [&] {
      const auto done = [this] { return loan_ ? loan_->is_out() : outcome_->result.has_value(); };
      if (proxy_.is_valid()) {
        const Inside inside(to_handle(proxy_));
        return msg::internal::wait_for(loop_, wait, done);
      }
      const RuntimeUse use;
      const Unlocked unlocked;
      return msg::internal::wait_for(loop_, wait, done);
    }();
    if (waited == msg::internal::Waited::done) return;
    raise(msg::internal::why_not(waited, "wait for a future"));
  }

  const std::uint32_t forks_ = fork_count();
  const msg::SessionId session_;
  loop::Loop& loop_;
  nb::object proxy_;  // None for a loan.
  std::shared_ptr<Outcome> outcome_;
  Borrowed loan_;
  nb::object value_;
};

}  // namespace

nb::object make_message_future(nb::object proxy, loop::Loop& loop, msg::PendingReply reply) {
  return nb::cast(std::make_unique<PyFuture>(std::move(proxy), loop, std::move(reply)));
}

nb::object make_loan_future(loop::Loop& loop, Borrowed borrowed, msg::SessionId id) {
  return nb::cast(std::make_unique<PyFuture>(loop, std::move(borrowed), id));
}

void bind_future(nb::module_& module) {
  nb::class_<PyFuture>(module, "Future", nb::type_slots(kCollected<PyFuture>),
                       R"(What is not there yet: an answer, or memory that was lent.

Can be awaited.)")
      .def_prop_ro("session_id", &PyFuture::session,
                   "For Proxy.cancel(), after which result() raises CancelledError. None if "
                   "nothing was sent.")
      .def("done", &PyFuture::is_done, "True once result() need not wait.")
      .def("result", &PyFuture::result, nb::arg("timeout").none() = nb::none(),
           "Waits for the answer, and gives it or raises why there is none. The same each time.")
      .def("_notify", &PyFuture::notify)
      .def_static("__class_getitem__", [](nb::handle) { return nb::type<PyFuture>(); })
      .def("__await__", [](nb::object self) {
        return call(
            call(nb::module_::import_("muster._aio").attr("future"), self).attr("__await__"));
      });
}

}  // namespace muster::python
