// Receiving. What is there is taken without letting the interpreter's lock go;
// whoever must wait lets it go.

#include <chrono>
#include <optional>
#include <utility>

#include "calls.h"
#include "docs.h"
#include "errors.h"
#include "message.h"
#include "notifier.h"
#include "proxy.h"

namespace muster::python {
namespace {

// A body that is none, or is not wanted: its sender hears of it, and the log.
void refuse(msg::Proxy& proxy, const msg::Message& message, const Error& why) {
  const Error said = why.during("message '" + std::string(message.tag()) + "' to " + proxy.name());
  static_cast<void>(proxy.refuse(message, said));
  log_warning("refused a message of " + std::string(message.source()) + ": " + said.message());
}

// Null: none came in time.
nb::object receive_next(ProxyHandle& self, const msg::Wait& wait) {
  msg::Proxy& proxy = self.live();
  for (;;) {
    Result<std::optional<msg::Message>> taken = proxy.receive_once(std::chrono::seconds(0));
    if (taken && !*taken) {
      const Inside inside(self);
      taken = proxy.receive_once(wait);
    }
    if (!taken) raise(taken.error());
    if (!*taken) return {};
    const msg::Message message = **std::move(taken);
    Result<nb::object> made = to_python(self, message);
    if (made) return *std::move(made);
    refuse(proxy, message, made.error());
  }
}

nb::object receive_once(ProxyHandle& self, nb::handle timeout) {
  nb::object message = receive_next(self, to_wait(timeout));
  return message.is_valid() ? message : nb::none();
}

// The iterator behind `for message in proxy.receive()`.
struct Reception {
  nb::object proxy;
  std::optional<double> timeout;
};

nb::object next(Reception& self) {
  auto& handle = *nb::inst_ptr<ProxyHandle>(self.proxy);
  try {
    nb::object message = receive_next(handle, wait_for(self.timeout));
    if (message.is_valid()) return message;
  } catch (const nb::python_error& raised) {
    // Its end is the end of the iteration, as in C++. Ctrl-C is not.
    const bool is_exit = PyErr_GivenExceptionMatches(raised.type().ptr(), PyExc_Exception) == 0;
    if (is_exit || !handle.live().ended() || handle.forks != fork_count()) throw;
  }
  throw nb::stop_iteration();
}

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
                   double grace, bool cancels_rest, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const std::vector<msg::SessionId> wanted = to_ids(ids);
  const msg::Enough enough{
      .count = count,
      .fraction = fraction,
      .grace = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(grace)),
      .cancels_rest = cancels_rest};
  const msg::Wait wait = to_wait(timeout);
  Result<msg::Replies> replies = [&] {
    const Inside inside(self);
    return proxy.collect(wanted, enough, wait);
  }();
  if (!replies) raise(replies.error());
  return give(self, *replies);
}

}  // namespace

void bind_proxy_receive(nb::module_& module, ProxyClass& proxy) {
  nb::class_<Reception>(module, "Iteration")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", next);
  proxy
      .def("receive_once", receive_once, nb::arg("timeout").none() = nb::none(), docs::kReceiveOnce)
      .def(
          "_iterate",
          [](nb::object self, nb::handle timeout) {
            return Reception{std::move(self), to_seconds(timeout)};
          },
          nb::arg("timeout").none())
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
      .def("_notify_receivable",
           [](const ProxyHandle& self, const Notifier& notifier, std::uint64_t token) {
             self.live().when_receivable(notifier.action(token));
           });
}

}  // namespace muster::python
