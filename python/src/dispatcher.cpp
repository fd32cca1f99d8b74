// What dist() is made of. launch() lets the interpreter's lock go; handlers take it.

#include "dispatcher.h"

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "collected.h"
#include "conditions.h"
#include "encode.h"
#include "errors.h"
#include "interpreter.h"
#include "message.h"
#include "muster/msg/event_dispatcher.h"
#include "proxy_handle.h"

namespace muster::python {
namespace {

// How a handler says that it was the last.
bool is_stop(const nb::python_error& raised) {
  const nb::object stop = nb::module_::import_("muster.component").attr("Stop");
  return PyErr_GivenExceptionMatches(raised.type().ptr(), stop.ptr()) != 0;
}

class Running {
 public:
  explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
};

class PyDispatcher {
 public:
  PyDispatcher(nb::object proxy, std::size_t pool, bool stops_on_error, nb::object report)
      : proxy_(std::move(proxy)), handle_(to_handle(proxy_)), report_(std::move(report)) {
    msg::ComponentOptions options;
    options.pool = pool;
    options.policy = stops_on_error ? msg::ErrorPolicy::stop : msg::ErrorPolicy::go_on;
    options.report = [this](const msg::HandlerFailure& failure) { tell(failure); };
    dispatcher_ = std::make_unique<msg::EventDispatcher>(handle().live(), std::move(options));
  }
  // The proxy may have gone with the interpreter, or belong to a parent.
  ~PyDispatcher() {
    if (handle().proxy == nullptr || handle().forks != fork_count()) {
      static_cast<void>(dispatcher_.release());
    }
  }
  PyDispatcher(const PyDispatcher&) = delete;
  PyDispatcher& operator=(const PyDispatcher&) = delete;

  msg::EventId add(nb::handle condition, nb::handle handler) {
    const auto kept = std::make_shared<Callback>(handler);
    const msg::EventId event =
        unwrap(dispatcher_->add(to_condition(condition), [this, kept](auto messages) {
          return call(*kept, std::move(messages));
        }));
    handlers_.emplace(event, kept);
    return event;
  }

  nb::list remove(msg::EventId event) {
    nb::list messages;
    for (msg::Message& message : unwrap(dispatcher_->remove(event))) {
      messages.append(give(handle(), std::move(message)));
    }
    handlers_.erase(event);
    return messages;
  }

  void launch(nb::handle timeout) {
    check_may_launch();
    exit_ = std::stop_source();
    const msg::Wait wait = to_wait(timeout);
    loop::Loop& loop = handle().live().loop();
    const Running running(is_running_);
    const Status ended = [&] {
      const Inside inside(handle());
      const TimePoint deadline = wait.deadline_from([&] { return loop.now(); });
      return dispatcher_->launch(msg::Wait(deadline, exit_.get_token()).asking(wait.check()));
    }();
    was_stopped_ = ended && is_stopped();
    if (raised_) std::exchange(raised_, std::nullopt)->restore();
    raise_signal();
    unwrap_ok(ended);
  }

  void stop() { dispatcher_->stop(); }
  bool is_stopped() const { return dispatcher_->is_stopped(); }
  bool is_partial() const { return dispatcher_->is_partial(); }

  // For collected.h. The proxy lets go of what refers to this.
  template <class Visit>
  int each_held(Visit visit) const {
    if (const int stops = visit(proxy_.ptr())) return stops;
    if (const int stops = visit(report_.ptr())) return stops;
    for (const auto& [event, handler] : handlers_) {
      if (const int stops = visit(handler->get())) return stops;
    }
    return 0;
  }
  void let_go() {
    report_ = nb::none();
    for (const auto& [event, handler] : handlers_) handler->let_go();
  }

 private:
  ProxyHandle& handle() const { return handle_; }

  void check_may_launch() const {
    if (is_running_) {
      raise(Error(Code::invalid, "launch: it runs already; a handler need only return"));
    }
    if (was_stopped_) {
      raise(Error(Code::invalid,
                  "launch: it was stopped, which is for good; make another of its class"));
    }
  }

  // Without the lock, in launch()'s thread or one of the pool's.
  msg::HandlerAnswer call(const Callback& kept, std::vector<msg::Message> messages) {
    const Locked locked;
    take_signal();
    const nb::object handler = nb::borrow(kept.get());
    if (!handler.is_valid()) return std::optional<wire::Value>();
    try {
      const nb::list readable = decode_all(messages);
      const bool is_refused = readable.size() == 0 && !messages.empty();
      if (is_refused) return std::optional<wire::Value>();
      const nb::object said = python::call(handler, readable);
      if (said.is_none()) return std::optional<wire::Value>();
      answer(messages, said);
    } catch (nb::python_error& raised) {
      if (is_stop(raised)) {
        dispatcher_->stop();
        return std::optional<wire::Value>();
      }
      if (is_exit(raised)) {
        end_by(raised);
        return Error(Code::cancelled, "the handler's program is ending");
      }
      return to_error(raised);
    }
    return std::optional<wire::Value>();
  }

  // What cannot be read is refused here, and the handler gets the others, if there are any.
  nb::list decode_all(std::vector<msg::Message>& messages) {
    nb::list all;
    for (const msg::Message& message : messages) {
      Result<nb::object> made = to_python(handle(), message);
      if (made) {
        all.append(*made);
        continue;
      }
      static_cast<void>(handle().live().unreadable(message, made.error()));
      log_warning("refused a message of " + std::string(message.source()) + ": " +
                  made.error().message());
    }
    return all;
  }

  // What the handler returned is the reply to each task that has none yet.
  void answer(const std::vector<msg::Message>& messages, const nb::object& said) {
    const msg::EncodedBody body = encode_for(handle(), said, {});
    for (const msg::Message& message : messages) {
      const bool is_open = message.is_request() && !message.is_answered() &&
                           message.session_type() == msg::SessionType::task;
      if (!is_open) continue;
      msg::ReplyOptions options;
      options.encoded = body;
      const msg::Wait wait = wait_for(std::nullopt);
      const Status sent = [&] {
        const Inside inside(handle());
        return handle().proxy->reply(message, {}, options, wait);
      }();
      unwrap_ok(sent);
    }
  }

  void tell(const msg::HandlerFailure& failure) {
    const Locked locked;
    take_signal();
    if (raised_) return;
    try {
      if (report_.is_none()) {
        return log_warning("a handler of " + handle().live().name() +
                           " failed: " + failure.error.describe());
      }
      nb::list messages;
      for (const msg::Message& message : failure.messages) {
        if (Result<nb::object> made = to_python(handle(), message)) messages.append(*made);
      }
      python::call(report_, failure.event, failure.error.describe(), messages);
    } catch (nb::python_error& raised) {
      if (is_exit(raised)) return end_by(raised);
      raised.restore();
      PyErr_WriteUnraisable(report_.ptr());
    }
  }

  // What a signal's handler raised while the library told a peer something.
  void take_signal() {
    if (PyErr_Occurred() == nullptr) return;
    nb::python_error raised;
    end_by(raised);
  }

  // launch() raises it.
  void end_by(nb::python_error& raised) {
    raised_.emplace(std::move(raised));
    exit_.request_stop();
  }

  nb::object proxy_;
  ProxyHandle& handle_;
  nb::object report_;
  std::map<msg::EventId, std::shared_ptr<Callback>> handlers_;
  std::unique_ptr<msg::EventDispatcher> dispatcher_;
  // Of the launch() that runs, guarded by the lock.
  bool is_running_ = false;
  std::stop_source exit_;
  std::optional<nb::python_error> raised_;
  bool was_stopped_ = false;  // And launch() has returned by that.
};

}  // namespace

void bind_dispatcher(nb::module_& module) {
  nb::class_<PyDispatcher>(module, "Dispatcher", nb::type_slots(kCollected<PyDispatcher>))
      .def(nb::init<nb::object, std::size_t, bool, nb::object>(), nb::arg("proxy"),
           nb::arg("pool") = 0, nb::arg("stops_on_error") = false,
           nb::arg("report").none() = nb::none())
      .def("add", &PyDispatcher::add, nb::arg("condition"), nb::arg("handler"))
      .def("remove", &PyDispatcher::remove, nb::arg("event"))
      .def("launch", &PyDispatcher::launch, nb::arg("timeout").none() = nb::none())
      .def("stop", &PyDispatcher::stop)
      .def_prop_ro("is_stopped", &PyDispatcher::is_stopped)
      .def_prop_ro("is_partial", &PyDispatcher::is_partial);
}

}  // namespace muster::python
