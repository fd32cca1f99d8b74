// Sending and answering. send(), scatter(), broadcast() and reply() let the
// interpreter's lock go while they wait; isend() and its like do not wait.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "docs.h"
#include "errors.h"
#include "freezing.h"
#include "future.h"
#include "interpreter.h"
#include "message.h"
#include "muster/msg/proxy_wait.h"
#include "proxy.h"
#include "quick.h"

namespace muster::python {
namespace {

Keeping borrow() { return {true, std::make_shared<Loan>()}; }

// Of one call, however many waits it is made of.
class Patience {
 public:
  Patience(ProxyHandle& self, nb::handle timeout)
      : wait_(to_wait(timeout)),
        deadline_(wait_.deadline_from([&] { return self.live().loop().now(); })) {}

  const msg::Wait& wait() const { return wait_; }

  // Waits until nobody reads the caller's memory any more. False if somebody still does when the
  // time is over.
  bool is_out(ProxyHandle& self, const Keeping& keeping) const {
    if (keeping.borrowed->is_out()) return true;
    loop::Loop& loop = self.live().loop();
    const auto waited = [&] {
      const Inside inside(self);
      return msg::internal::wait_for(loop, wait_, deadline_,
                                     [&] { return keeping.borrowed->is_out(); });
    }();
    if (waited == msg::internal::Waited::cancelled) raise(why(waited));
    return waited == msg::internal::Waited::done;
  }
  void wait_until_out(ProxyHandle& self, const Keeping& keeping) const {
    if (!is_out(self, keeping)) raise(why(msg::internal::Waited::timeout));
  }

 private:
  static Error why(msg::internal::Waited waited) {
    return msg::internal::why_not(waited, "send an array: it is still being read");
  }

  msg::Wait wait_;
  TimePoint deadline_;
};

void set_deadline(const ProxyHandle& self, nb::handle timeout, msg::Draft& draft) {
  if (timeout.is_none()) return;
  loop::Loop& loop = self.live().loop();
  draft.deadline = to_wait(timeout).deadline_from([&] { return loop.now(); });
}

nb::object send(ProxyHandle& self, nb::handle tag, nb::handle destination, nb::handle body,
                nb::handle timeout, nb::handle session_type, nb::handle priority,
                nb::handle compression, nb::handle on_loss, nb::handle session_id) {
  msg::Proxy& proxy = self.live();
  const Keeping keeping = borrow();
  const Patience patience(self, timeout);
  Result<msg::Message> answer = [&] {
    msg::Draft draft = make_draft(
        self,
        {tag, destination, body, session_type, priority, compression, on_loss, session_id, {}, {}},
        keeping);
    const Inside inside(self);
    return proxy.send(std::move(draft), patience.wait());
  }();
  if (!answer) raise(answer.error());
  patience.wait_until_out(self, keeping);
  return give(self, *std::move(answer));
}

nb::object isend(ProxyHandle& self, nb::handle tag, nb::handle destination, nb::handle body,
                 nb::handle session_type, nb::handle timeout, nb::handle priority,
                 nb::handle compression, nb::handle on_loss, nb::handle session_id,
                 nb::handle answers, nb::handle wants_receipt, bool borrows) {
  msg::Proxy& proxy = self.live();
  const Keeping keeping = borrows ? borrow() : Keeping();
  msg::SessionId id;
  {
    Freezing freezing;
    msg::Draft draft = make_draft(self,
                                  {tag, destination, body, session_type, priority, compression,
                                   on_loss, session_id, answers, wants_receipt},
                                  keeping);
    set_deadline(self, timeout, draft);
    Result<msg::SessionId> sent = proxy.isend(draft);
    if (!sent) raise(sent.error());
    freezing.keep();
    id = *sent;
  }
  if (!borrows) return nb::cast(id);
  return make_loan_future(proxy.loop(), keeping.borrowed, id);
}

// isend() as nanobind binds it, never let go.
PyObject* general_isend = nullptr;

PyObject* call_general_isend(PyObject* self, PyObject* const* given, Py_ssize_t count,
                             PyObject* names) {
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  std::vector<PyObject*> all{self};
  all.insert(all.end(), given, given + count + named);
  return PyObject_Vectorcall(general_isend, all.data(), static_cast<std::size_t>(count + 1), names);
}

// isend(tag, destination, body, session_type) is what messages in masses are sent by. To find
// twelve arguments by their names would take as long as the rest.
PyObject* quick_isend(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const bool is_plain = names == nullptr && count == 4 && nb::inst_ready(self);
    if (!is_plain) return call_general_isend(self, given, count, names);
    const nb::handle none = nb::handle(Py_None);
    auto& handle = *nb::inst_ptr<ProxyHandle>(self);
    msg::Proxy& proxy = handle.live();
    Freezing freezing;
    const msg::Draft draft = make_draft(
        handle, {given[0], given[1], given[2], given[3], none, none, none, none, {}, {}}, {});
    Result<msg::SessionId> sent = proxy.isend(draft);
    if (!sent) raise(sent.error());
    freezing.keep();
    return make_instance(*sent).release().ptr();
  });
}

PyMethodDef quick_isend_definition = {
    "isend", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(quick_isend)),
    METH_FASTCALL | METH_KEYWORDS, docs::kIsend};

nb::object request(ProxyHandle& self, nb::handle tag, nb::handle destination, nb::handle body,
                   nb::handle session_type, nb::handle timeout, nb::handle priority,
                   nb::handle compression, nb::handle on_loss, nb::handle session_id,
                   bool borrows) {
  msg::Proxy& proxy = self.live();
  const Keeping keeping = borrows ? borrow() : Keeping();
  msg::Draft draft = make_draft(
      self,
      {tag, destination, body, session_type, priority, compression, on_loss, session_id, {}, {}},
      keeping);
  set_deadline(self, timeout, draft);
  return make_message_future(nb::find(self), proxy.loop(), proxy.request(std::move(draft)));
}

using Bodies = std::vector<std::pair<msg::Destination, msg::EncodedBody>>;

// {"worker_1": body} or [("worker_1", body), ...]. The same object is written once.
Bodies to_bodies(const ProxyHandle& self, nb::handle said, const Keeping& keeping,
                 nb::handle compression) {
  Freezing freezing;
  Bodies bodies;
  const nb::object items = PyDict_Check(said.ptr()) ? call(said.attr("items")) : nb::borrow(said);
  std::map<PyObject*, std::size_t> firsts;
  std::vector<nb::object> alive;  // Or another could be where one was.
  for (const nb::handle item : nb::list(items)) {
    const auto [destination, body] = to_pair(item, "each of the bodies");
    const auto [first, is_new] = firsts.try_emplace(body.ptr(), bodies.size());
    if (is_new) alive.emplace_back(nb::borrow(body));
    bodies.emplace_back(
        to_destination(destination),
        is_new ? encode_for(self, body, keeping, compression) : bodies[first->second].second);
  }
  freezing.keep();
  return bodies;
}

nb::object give_ids(const std::vector<msg::SessionId>& ids) {
  nb::list made;
  for (const msg::SessionId id : ids) made.append(id);
  return made;
}

nb::object wait_for_replies(ProxyHandle& self, const std::vector<msg::SessionId>& ids,
                            const Keeping& keeping, const Patience& patience) {
  msg::Proxy& proxy = self.live();
  Result<msg::Replies> replies = [&] {
    const Inside inside(self);
    Result<msg::Replies> come = proxy.receive_by_id(ids, patience.wait());
    // Nobody knows their ids: what still comes would stay for good.
    if (!come) static_cast<void>(proxy.collect(ids, {}, msg::Wait(Duration::zero())));
    return come;
  }();
  if (!replies) raise(replies.error());
  // Who has not read it in time has not answered either, which the replies tell.
  static_cast<void>(patience.is_out(self, keeping));
  return give(self, *replies);
}

msg::Draft shared_draft(const ProxyHandle& self, nb::handle tag, nb::handle body,
                        nb::handle session_type, nb::handle priority, nb::handle compression,
                        nb::handle on_loss, const Keeping& keeping) {
  const nb::object none = nb::none();
  return make_draft(
      self, {tag, {}, body, session_type, priority, compression, on_loss, none, {}, {}}, keeping);
}

nb::object scatter(ProxyHandle& self, nb::handle tag, nb::handle said, nb::handle timeout,
                   nb::handle session_type, nb::handle priority, nb::handle compression,
                   nb::handle on_loss, bool waits) {
  msg::Proxy& proxy = self.live();
  const Keeping keeping = waits ? borrow() : Keeping();
  const Patience patience(self, timeout);
  msg::Draft draft =
      shared_draft(self, tag, nb::none(), session_type, priority, compression, on_loss, keeping);
  draft.encoded.reset();
  draft.wants_receipt = waits && draft.session_type == msg::SessionType::notification;
  set_deadline(self, timeout, draft);
  Result<std::vector<msg::SessionId>> ids = [&] {
    Bodies bodies = to_bodies(self, said, keeping, compression);
    const Inside inside(self);
    return proxy.iscatter_encoded(draft, std::move(bodies));
  }();
  return waits ? wait_for_replies(self, unwrap(std::move(ids)), keeping, patience)
               : give_ids(unwrap(std::move(ids)));
}

nb::object broadcast(ProxyHandle& self, nb::handle tag, nb::handle audience, nb::handle body,
                     nb::handle timeout, nb::handle session_type, nb::handle priority,
                     nb::handle compression, nb::handle on_loss, bool waits) {
  msg::Proxy& proxy = self.live();
  const Keeping keeping = waits ? borrow() : Keeping();
  const Patience patience(self, timeout);
  Result<std::vector<msg::SessionId>> ids = [&] {
    msg::Draft draft =
        shared_draft(self, tag, body, session_type, priority, compression, on_loss, keeping);
    draft.wants_receipt = waits && draft.session_type == msg::SessionType::notification;
    set_deadline(self, timeout, draft);
    const msg::Audience to = to_audience(audience);
    const Inside inside(self);
    return proxy.ibroadcast(to, draft);
  }();
  return waits ? wait_for_replies(self, unwrap(std::move(ids)), keeping, patience)
               : give_ids(unwrap(std::move(ids)));
}

void reply(ProxyHandle& self, const PyMessage& message, nb::handle body, nb::handle tag,
           nb::handle compression, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const Keeping keeping = borrow();
  const Patience patience(self, timeout);
  const Status sent = [&]() -> Status {
    msg::ReplyOptions options;
    if (!tag.is_none()) options.tag = to_tag(tag);
    options.encoded = encode_for(self, body, keeping, compression);
    const Inside inside(self);
    return proxy.reply(message.message, {}, options, patience.wait());
  }();
  unwrap_ok(sent);
  patience.wait_until_out(self, keeping);
}

void fail(ProxyHandle& self, const PyMessage& message, const std::string& why, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const msg::Wait wait = to_wait(timeout);
  const Status sent = [&] {
    const Inside inside(self);
    return proxy.fail(message.message, Error(Code::failed, why), wait);
  }();
  unwrap_ok(sent);
}

void acknowledge(ProxyHandle& self, const PyMessage& message, nb::handle timeout) {
  msg::Proxy& proxy = self.live();
  const msg::Wait wait = to_wait(timeout);
  const Status sent = [&] {
    const Inside inside(self);
    return proxy.acknowledge(message.message, wait);
  }();
  unwrap_ok(sent);
}

msg::SessionId forward(ProxyHandle& self, const PyMessage& message, const std::string& destination,
                       nb::handle tag, nb::handle answers) {
  if (message.message.encoded() == nullptr && !message.message.peer()) {
    raise(Error(Code::invalid, "forward: this message did not come from anybody; send() it"));
  }
  msg::ForwardOptions options;
  if (!tag.is_none()) options.tag = to_tag(tag);
  options.answers = static_cast<msg::Answers>(number_of(Word::answers, answers, 0));
  return unwrap(self.live().forward(message.message, destination, std::move(options)));
}

const nb::object& none() {
  static const auto* const it = new nb::object(nb::none());
  return *it;
}

}  // namespace

void bind_proxy_send(ProxyClass& proxy) {
  const auto opt = [](const char* name) { return nb::arg(name).none() = none(); };
  proxy
      .def("send", send, nb::arg("tag"), opt("destination"), opt("body"), opt("timeout"),
           nb::kw_only(), opt("session_type"), opt("priority"), opt("compression"), opt("on_loss"),
           opt("session_id"), docs::kSend)
      .def("isend", isend, nb::arg("tag"), opt("destination"), opt("body"), opt("session_type"),
           nb::kw_only(), opt("timeout"), opt("priority"), opt("compression"), opt("on_loss"),
           opt("session_id"), opt("answers"), opt("wants_receipt"), nb::arg("borrow") = false,
           docs::kIsend)
      .def("request", request, nb::arg("tag"), opt("destination"), opt("body"), opt("session_type"),
           nb::kw_only(), opt("timeout"), opt("priority"), opt("compression"), opt("on_loss"),
           opt("session_id"), nb::arg("borrow") = false, docs::kRequest)
      .def("_scatter", scatter, nb::arg("tag"), nb::arg("bodies"), opt("timeout"),
           opt("session_type"), opt("priority"), opt("compression"), opt("on_loss"),
           nb::arg("waits"))
      .def("_broadcast", broadcast, nb::arg("tag"), opt("audience"), opt("body"), opt("timeout"),
           opt("session_type"), opt("priority"), opt("compression"), opt("on_loss"),
           nb::arg("waits"))
      .def("reply", reply, nb::arg("message"), opt("body"), nb::kw_only(), opt("tag"),
           opt("compression"), opt("timeout"), docs::kReply)
      .def("fail", fail, nb::arg("message"), nb::arg("why"), nb::kw_only(), opt("timeout"),
           docs::kFail)
      .def("acknowledge", acknowledge, nb::arg("message"), nb::kw_only(), opt("timeout"),
           docs::kAcknowledge)
      .def("forward", forward, nb::arg("message"), nb::arg("destination"), nb::kw_only(),
           opt("tag"), opt("answers"), docs::kForward);
  general_isend = nb::object(proxy.attr("isend")).release().ptr();
  proxy.attr("isend") = nb::steal(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(proxy.ptr()), &quick_isend_definition));
}

}  // namespace muster::python
