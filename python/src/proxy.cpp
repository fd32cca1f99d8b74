// Joining, leaving, and who is there. What waits lets the interpreter's lock go.

#include "proxy.h"

#include <string>
#include <utility>

#include "calls.h"
#include "docs.h"
#include "errors.h"
#include "instances.h"
#include "message.h"
#include "process.h"

namespace muster::python {
namespace {

nb::dict describe(const msg::PeerInfo& info) {
  nb::dict made;
  made["name"] = info.name;
  made["type"] = info.type;
  made["incarnation"] = info.incarnation;
  made["presence"] = name(info.presence).data();
  made["addresses"] = info.addresses;
  made["driver"] = info.driver;
  made["address"] = info.address;
  made["messages_sent"] = info.messages_sent;
  made["messages_received"] = info.messages_received;
  made["bytes_sent"] = info.bytes_sent;
  made["bytes_received"] = info.bytes_received;
  made["queued"] = info.queued;
  return made;
}

nb::object describe(const msg::ProxyEvent& event) {
  return nb::module_::import_("muster._replies")
      .attr("ProxyEvent")(name(event.kind).data(), event.peer, event.text, event.count,
                          event.session);
}

// Called by whoever is inside a call of the proxy. Its errors are nobody's, but for exits.
void tell(const Callback& listener, const msg::ProxyEvent& event) {
  const Locked locked;
  const nb::error_scope aside;  // A signal that the call is about to raise.
  const nb::object callable = nb::borrow(listener.get());
  if (!callable.is_valid()) return;
  try {
    call(callable, describe(event));
  } catch (nb::python_error& raised) {
    if (is_exit(raised)) return raise_in_main_thread(std::move(raised));
    raised.restore();
    PyErr_WriteUnraisable(callable.ptr());
  }
}

std::vector<std::string> to_texts(nb::handle list, const std::string& what) {
  std::vector<std::string> all;
  if (PyUnicode_Check(list.ptr())) raise(Error(Code::invalid, what + " is a list, not a str"));
  for (const nb::handle text : list) all.push_back(to_text(text, "each of " + what));
  return all;
}

// What muster/proxy.py leaves for this; it knows the defaults of nothing.
msg::ProxyOptions to_options(const nb::dict& said) {
  msg::ProxyOptions options;
  options.keeps_encoded = true;
  for (const auto& [key, value] : said) {
    const std::string name = to_text(key, "an option");
    if (name == "group") options.group = to_text(value, name);
    if (name == "type") options.type = to_text(value, name);
    if (name == "name") options.name = to_text(value, name);
    if (name == "registry") options.registry = registry_at(to_text(value, name));
    if (name == "listen") options.listen = to_texts(value, name);
    if (name == "expected") options.expected = to_expected(value);
    if (name == "minimum") options.minimum = to_expected(value);
    if (name == "minimum_timeout") options.minimum_deadline = to_duration(value, name);
    if (name == "lease") options.lease = to_duration(value, name);
    if (name == "beat") options.beat = to_duration(value, name);
    if (name == "silence") options.silence = to_duration(value, name);
    if (name == "max_waiting") options.max_waiting = to_count(value, name);
    if (name == "max_queued") options.max_queued = to_count(value, name);
    if (name == "max_body") options.max_body = to_count(value, name);
    if (name == "absent_messages") options.absent.max_messages = to_count(value, name);
    if (name == "absent_bytes") options.absent.max_bytes = to_count(value, name);
  }
  return options;
}

void make(ProxyHandle* self, const nb::dict& said, bool accepts_pickles, nb::handle dumps,
          bool waits, nb::handle timeout) {
  msg::ProxyOptions options = to_options(said);
  std::shared_ptr<Callback> on_event;
  if (said.contains("on_event")) {
    on_event = std::make_shared<Callback>(nb::object(said["on_event"]));
    options.on_event = [on_event](const msg::ProxyEvent& event) { tell(*on_event, event); };
  }
  Runtime& here = runtime();
  const RuntimeUse use;
  const msg::Wait wait = to_wait(timeout);
  Result<std::unique_ptr<msg::Proxy>> made = [&] {
    const Unlocked unlocked;
    return waits ? here.join(std::move(options), wait) : here.start(std::move(options));
  }();
  std::unique_ptr<msg::Proxy> proxy = unwrap(std::move(made));
  new (self) ProxyHandle;
  self->proxy = std::move(proxy);
  self->decoding.accepts_pickles = accepts_pickles;
  if (!dumps.is_none()) self->dumps = nb::borrow(dumps);
  self->on_event = std::move(on_event);
  enter_proxy(*self);
}

void leave(ProxyHandle& self, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const msg::Wait wait = to_wait(timeout);
  const Status left = [&] {
    const Inside inside(self);
    return proxy.leave(wait);
  }();
  unwrap_ok(left);
}

void wait_for_peers(ProxyHandle& self, nb::handle expected, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const std::vector<msg::Expected> wanted = to_expected(expected);
  const msg::Wait wait = to_wait(timeout);
  const Status there = [&] {
    const Inside inside(self);
    return proxy.wait_for_peers(wanted, wait);
  }();
  unwrap_ok(there);
}

nb::object next_event(ProxyHandle& self, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const msg::Wait wait = to_wait(timeout);
  const std::optional<msg::ProxyEvent> event = [&] {
    const Inside inside(self);
    return proxy.next_event(wait);
  }();
  raise_signal();
  return event ? describe(*event) : nb::none();
}

nb::list peers(const ProxyHandle& self) {
  nb::list all;
  for (const msg::PeerInfo& info : self.live().peers()) all.append(describe(info));
  return all;
}

nb::object peer(const ProxyHandle& self, const std::string& name) {
  const std::optional<msg::PeerInfo> info = self.live().peer(name);
  if (!info) return nb::none();
  return describe(*info);
}

nb::dict counters(const ProxyHandle& self) {
  const msg::ProxyCounters counted = self.live().counters();
  nb::dict made;
  made["waiting"] = counted.waiting;
  made["waiting_bytes"] = counted.waiting_bytes;
  made["open_sessions"] = counted.open_sessions;
  made["sessions"] = counted.sessions;
  made["dropped"] = counted.dropped;
  made["refused"] = counted.refused;
  made["unwanted"] = counted.unwanted;
  return made;
}

}  // namespace

ProxyHandle::~ProxyHandle() {
  sleep_if_closing();  // Whoever ends the interpreter is leaving all groups, this one's too.
  remove_proxy(*this);
  let_go();  // Others may keep the proxy until it has said goodbye to all.
}

void ProxyHandle::let_go() {
  dumps.reset();
  if (on_event) on_event->let_go();
}

msg::Proxy& ProxyHandle::live() const {
  sleep_if_closing();
  if (proxy == nullptr) raise(Error(Code::cancelled, "use a proxy: the interpreter is ending"));
  return *proxy;
}

ProxyHandle& to_handle(nb::handle proxy) {
  return instance_of<ProxyHandle>(proxy, "a muster.Proxy");
}

void bind_proxy(nb::module_& module) {
  // Python's own subclass has attributes and weak references.
  ProxyClass proxy(module, "Proxy", nb::type_slots(kCollected<ProxyHandle>));
  proxy
      .def("__init__", make, nb::arg("options"), nb::arg("accepts_pickles"),
           nb::arg("dumps").none(), nb::arg("waits"), nb::arg("timeout").none())
      .def_prop_ro(
          "group", [](const ProxyHandle& self) { return self.live().group(); }, "The group's name.")
      .def_prop_ro(
          "name", [](const ProxyHandle& self) { return self.live().name(); },
          "This component's name.")
      .def_prop_ro(
          "type", [](const ProxyHandle& self) { return self.live().type(); },
          "This component's type.")
      .def_prop_ro(
          "incarnation", [](const ProxyHandle& self) { return self.live().incarnation(); },
          "Counts how often the name has come back; 0 before the registry has answered.")
      .def_prop_ro(
          "is_joined", [](const ProxyHandle& self) { return self.live().is_joined(); },
          "False before the registry has taken us in, and once this is over.")
      .def_prop_ro(
          "accepts_pickles", [](const ProxyHandle& self) { return self.decoding.accepts_pickles; },
          "Whether bodies may be pickles.")
      .def_static("_check_made", [](nb::handle self) { static_cast<void>(to_handle(self)); })
      .def("leave", leave, nb::arg("timeout").none() = nb::none(), docs::kLeave)
      .def("_peers", peers)
      .def("_peer", peer)
      .def(
          "peer_names",
          [](const ProxyHandle& self, const std::string& type) {
            return self.live().peer_names(type);
          },
          nb::arg("type"), docs::kPeerNames)
      .def("wait_for_peers", wait_for_peers, nb::arg("expected"),
           nb::arg("timeout").none() = nb::none(), docs::kWaitForPeers)
      .def(
          "has_peers",
          [](const ProxyHandle& self, nb::handle expected) {
            return self.live().has_peers(to_expected(expected));
          },
          nb::arg("expected"), docs::kHasPeers)
      .def("next_event", next_event, nb::arg("timeout").none() = nb::none(), docs::kNextEvent)
      .def("_counters", counters)
      .def("_ended", [](const ProxyHandle& self) {
        const std::optional<Error> why = self.live().ended();
        return why ? nb::cast(why->describe()) : nb::none();
      });
  bind_proxy_send(proxy);
  bind_proxy_receive(module, proxy);
}

}  // namespace muster::python
