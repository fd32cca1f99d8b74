// Receiving. What is there is taken without letting the interpreter's lock go;
// whoever must wait lets it go.

#include <optional>
#include <utility>

#include "calls.h"
#include "collected.h"
#include "docs.h"
#include "errors.h"
#include "instances.h"
#include "message.h"
#include "notifier.h"
#include "proxy.h"
#include "quick.h"

namespace muster::python {
namespace {

// A body that is none, or is not wanted: its sender hears of it, and the log.
void refuse(msg::Proxy& proxy, const msg::Message& message, const Error& why) {
  const Error said = why.during("message '" + std::string(message.tag()) + "' to " + proxy.name());
  static_cast<void>(proxy.unreadable(message, said));
  log_warning("refused a message of " + std::string(message.source()) + ": " + said.message());
}

// Null: none came in time. `wait` is asked for only where there is nothing to take.
template <class MakeWait>
nb::object receive_next(ProxyHandle& self, MakeWait wait) {
  static const msg::Wait not_at_all{TimePoint()};
  msg::Proxy& proxy = self.live();
  for (;;) {
    Result<std::optional<msg::Message>> taken = proxy.receive_once(not_at_all);
    if (taken && !*taken) {
      const msg::Wait so_long = wait();
      const Inside inside(self);
      taken = proxy.receive_once(so_long);
    }
    if (!taken) raise(taken.error());
    if (!*taken) return {};
    msg::Message& message = **taken;
    try {
      Result<nb::object> made = to_python(self, message);
      if (made) return *std::move(made);
      refuse(proxy, message, made.error());
    } catch (const nb::python_error&) {
      refuse(proxy, message, Error(Code::cancelled, "the program ended while it read it"));
      throw;
    }
  }
}

nb::object receive_once(ProxyHandle& self, nb::handle timeout) {
  const std::optional<double> seconds = to_seconds(timeout);
  nb::object message = receive_next(self, [&] { return wait_for(seconds); });
  return message.is_valid() ? message : nb::none();
}

bool is_over(const ProxyHandle& self) {
  return self.forks == fork_count() && self.live().ended().has_value();
}

// The iterator behind `for message in proxy.receive()`.
struct Reception {
  nb::object proxy;
  std::optional<double> timeout;

  // For collected.h. The proxy lets go of what refers to this.
  template <class Visit>
  int each_held(Visit visit) const {
    return visit(proxy.ptr());
  }
};

Reception iterate(nb::object proxy, nb::handle timeout) {
  const std::optional<double> seconds = to_seconds(timeout);
  static_cast<void>(to_handle(proxy));
  static_cast<void>(wait_for(seconds));  // Raises for what is no time.
  return {std::move(proxy), seconds};
}

PyObject* next(PyObject* iterator) {
  return guarded([&]() -> PyObject* {
    const Reception& self = instance_of<Reception>(iterator, "an iteration over messages");
    ProxyHandle& handle = to_handle(self.proxy);
    try {
      return receive_next(handle, [&] { return wait_for(self.timeout); }).release().ptr();
    } catch (const nb::python_error& raised) {
      // Its end is the end of the iteration, as in C++. Ctrl-C is not.
      if (is_exit(raised) || !is_over(handle)) throw;
    }
    return nullptr;
  });
}

const PyType_Slot kIteratorSlots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(next)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<Reception>)},
    {0, nullptr}};

nb::object receive_by_id(ProxyHandle& self, nb::handle ids, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const std::vector<msg::SessionId> wanted = to_ids(ids);
  const msg::Wait wait = to_wait(timeout);
  Result<msg::Replies> replies = [&] {
    const Inside inside(self);
    return proxy.receive_by_id(wanted, wait);
  }();
  if (!replies) raise(replies.error());
  return give(self, *replies);
}

nb::object collect(ProxyHandle& self, nb::handle ids, std::size_t count, double fraction,
                   nb::handle grace, bool cancels_rest, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  if (!(fraction >= 0 && fraction <= 1)) raise(Error(Code::invalid, "fraction is from 0 to 1"));
  const std::vector<msg::SessionId> wanted = to_ids(ids);
  const msg::Enough enough{.count = count,
                           .fraction = fraction,
                           .grace = to_duration(grace, "grace"),
                           .cancels_rest = cancels_rest};
  const msg::Wait wait = to_wait(timeout);
  Result<msg::Replies> replies = [&] {
    const Inside inside(self);
    return proxy.collect(wanted, enough, wait);
  }();
  if (!replies) raise(replies.error());
  return give(self, *replies);
}

// The proxy keeps one action at most, however many have come to wait and gone again.
void notify_receivable(const ProxyHandle& self, const Notifier& notifier, std::uint64_t token) {
  msg::Proxy& proxy = self.live();
  if (!self.receivable->enter(token, notifier.action(token))) return;
  proxy.when_receivable([listeners = self.receivable] { listeners->tell(); });
}

}  // namespace

void bind_proxy_receive(nb::module_& module, ProxyClass& proxy) {
  nb::class_<Reception>(module, "Iteration", nb::type_slots(kIteratorSlots));
  proxy
      .def("receive_once", receive_once, nb::arg("timeout").none() = nb::none(), docs::kReceiveOnce)
      .def("_iterate", iterate, nb::arg("timeout").none())
      .def("receive_by_id", receive_by_id, nb::arg("ids"), nb::arg("timeout").none() = nb::none(),
           docs::kReceiveById)
      .def("collect", collect, nb::arg("ids"), nb::kw_only(), nb::arg("count") = 0,
           nb::arg("fraction") = 0.0, nb::arg("grace") = 0.0, nb::arg("cancels_rest") = true,
           nb::arg("timeout").none() = nb::none(), docs::kCollect)
      .def(
          "is_answered",
          [](const ProxyHandle& self, nb::handle id) { return self.live().is_answered(to_id(id)); },
          nb::arg("id"), docs::kIsAnswered)
      .def(
          "session_state",
          [](const ProxyHandle& self, nb::handle id) -> nb::object {
            const auto state = self.live().session_state(to_id(id));
            if (!state) return nb::none();
            return nb::str(name(*state).data(), name(*state).size());
          },
          nb::arg("id"), docs::kSessionState)
      .def(
          "cancel",
          [](const ProxyHandle& self, nb::handle id) { return self.live().cancel(to_id(id)); },
          nb::arg("id"), docs::kCancel)
      .def("_is_over", is_over)
      .def("_notify_receivable", notify_receivable)
      .def("_listening", [](const ProxyHandle& self) { return self.receivable->tokens(); })
      .def("_forget_receivable",
           [](const ProxyHandle& self, std::uint64_t token) { self.receivable->forget(token); });
}

}  // namespace muster::python
