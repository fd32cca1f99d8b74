// A proxy's sending calls: one request, several, or one to many.

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/copy_large.h"
#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"
#include "muster/msg/same_body.h"

namespace muster::msg {

using internal::is_tracked;
using internal::ProxyCore;
using internal::Waited;
using loop::Turn;
using wire::Value;

// One of several that are sent at once.
struct Proxy::SendItem {
  Destination destination;
  EncodedBody body;
};

namespace {

Status check(const Draft& draft) {
  if (!draft.tag.is_valid() || !is_text(draft.tag)) {
    return Error(Code::invalid, fmt::format("send: a tag is 1 to {} bytes of UTF-8", kMaxTag));
  }
  if (static_cast<std::uint8_t>(draft.priority) >= net::kPriorities) {
    return Error(Code::invalid, "send: there is no such priority");
  }
  return ok();
}

Status write_body(const Draft& draft, const BodyLimits& limits, EncodedBody& body) {
  if (!draft.encoded) return encode_body(draft.body, draft.compression, limits, body);
  body = *draft.encoded;
  return ok();
}

// send() as a thing that is tried again until it is done.
struct Sending {
  ProxyCore& core;
  const Draft& draft;
  EncodedBody& body;
  SessionWatch watch = {};
  SessionId id = {};
  std::optional<std::uint64_t> rooms = std::nullopt;  // When there was no room.
  std::optional<SessionTable::Outcome> outcome = std::nullopt;

  bool step() {
    if (outcome) return true;
    if (!id && !submit()) return outcome.has_value();
    if (watch.left != 0) return false;
    core.sessions().take_outcome(id, outcome);
    return true;
  }

  bool submit() {
    if (rooms && *rooms == core.rooms()) return false;
    const Result<PeerId> peer = core.resolve(draft.destination);
    Result<SessionId> sent = peer ? core.submit(*peer, draft, body, &watch) : peer.error();
    if (sent) {
      id = *sent;
      return true;
    }
    if (sent.error().code() == Code::overloaded) {
      rooms = core.rooms();
    } else {
      outcome.emplace(std::move(sent).error());
    }
    return false;
  }

  // Not under the baton.
  void forget() const {
    const Turn turn(core.loop());
    core.sessions().forget(id);
  }
};

// Memory that all processes of this host can read; empty if there is none.
WritableBuffer shared_memory(ProxyCore& core, std::size_t size) {
  {
    const Turn turn(core.loop());
    if (core.some_link("shm") == nullptr) return {};
  }
  Result<WritableBuffer> memory = core.sharing_driver()->allocate(size);
  return memory ? *std::move(memory) : WritableBuffer();
}

// Copies large parts that go to several to such memory, each once. Not under the baton:
// it takes a while.
void share_parts(ProxyCore& core, std::vector<Proxy::SendItem>& items) {
  std::map<std::pair<const std::byte*, std::size_t>, std::vector<Buffer*>> places;
  for (Proxy::SendItem& item : items) {
    for (Buffer& part : item.body.parts) {
      const bool is_shared = part.owner() != nullptr && part.owner()->origin() != nullptr;
      if (part.size() < net::kLargePart || is_shared) continue;
      places[{part.data(), part.size()}].push_back(&part);
    }
  }
  for (const auto& [place, parts] : places) {
    if (parts.size() == 1) continue;
    const auto [data, size] = place;
    WritableBuffer memory = shared_memory(core, size);
    if (memory.data() == nullptr) return;
    copy_large(memory.data(), data, size);
    const Buffer shared = std::move(memory).freeze(size);
    for (Buffer* part : parts) *part = shared;
  }
}

}  // namespace

Result<Message> Proxy::send(Draft draft, const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  draft.wants_receipt = draft.session_type == SessionType::notification;
  draft.answers = Answers::by_id;
  const TimePoint deadline =
      std::min(draft.deadline, wait.deadline_from([this] { return core_->loop().now(); }));
  draft.deadline = deadline;
  EncodedBody body;
  MUSTER_TRY_OK(write_body(draft, core_->options().body_limits, body));
  Sending sending{*core_, draft, body};
  const internal::OnThrow forget([&] { sending.forget(); });
  if (draft.delivery == Delivery::at_least_once && core_->options().outbox != nullptr) {
    attend(wait, deadline, [&] { return sending.step() || sending.id; });
    static_cast<void>(write_kept());  // Where that fails, the session does.
  }
  const Waited waited = attend(wait, deadline, [&sending] { return sending.step(); });
  if (!sending.outcome) sending.forget();
  if (sending.outcome) return to_message(*sending.outcome);
  return internal::why_not(waited,
                           fmt::format("send {} to {}", draft.tag.text(), draft.destination.name));
}

Result<SessionId> Proxy::isend(const Draft& draft) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  EncodedBody body;
  MUSTER_TRY_OK(write_body(draft, core_->options().body_limits, body));
  SessionId id;
  {
    const Turn turn(core_->loop());
    MUSTER_TRY(const PeerId peer, core_->resolve(draft.destination));
    MUSTER_TRY(id, core_->submit(peer, draft, body));
  }
  if (draft.delivery != Delivery::at_least_once) return id;
  if (Status written = write_kept(); !written) {
    const Turn turn(core_->loop());
    core_->sessions().forget(id);
    return std::move(written).error();
  }
  return id;
}

Result<SessionId> Proxy::ask(const Draft& draft,
                             std::function<void(Result<Message>, bool was_answered)> done) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  EncodedBody body;
  MUSTER_TRY_OK(write_body(draft, core_->options().body_limits, body));
  SessionId id;
  {
    const Turn turn(core_->loop());
    MUSTER_TRY(const PeerId peer, core_->resolve(draft.destination));
    MUSTER_TRY(id, core_->submit(peer, draft, body, nullptr,
                                 [this, done = std::move(done)](SessionTable::Outcome outcome) {
                                   const bool was_answered = outcome.has_value();
                                   done(to_message(outcome), was_answered);
                                 }));
  }
  // Where that fails, the session does.
  if (draft.delivery == Delivery::at_least_once) static_cast<void>(write_kept());
  return id;
}

PendingReply Proxy::request(Draft draft) {
  if (Status here = core_->check_process(); !here) {
    return {loop::Future<Message>::failed(std::move(here).error()), SessionId{}};
  }
  draft.answers = Answers::by_id;
  draft.wants_receipt = draft.session_type == SessionType::notification;
  const auto promise = std::make_shared<loop::Promise<Message>>(core_->loop());
  loop::Future<Message> future = promise->future();
  const Result<SessionId> asked =
      ask(draft, [promise](Result<Message> answer, bool) { promise->set(std::move(answer)); });
  if (!asked) promise->set(asked.error());
  return {std::move(future), asked ? *asked : SessionId{}};
}

namespace {

// Of sessions that nobody else knows. Not under the baton.
void forget_all(ProxyCore& core, const std::vector<SessionId>& ids) {
  const Turn turn(core.loop());
  for (const SessionId id : ids) core.sessions().forget(id);
}

// Each needs a session until its outcome is taken. Who waits has time for others to end.
Status check_room_for(ProxyCore& core, std::size_t count, bool may_wait) {
  const Turn turn(core.loop());
  const std::size_t taken = may_wait ? 0 : core.sessions().size();
  const std::size_t limit = core.options().max_sessions;
  if (taken + count <= limit) return ok();
  return Error(Code::overloaded,
               fmt::format("send to {}: of {} sessions {} are in use; nothing was sent. take "
                           "outcomes, or raise max_sessions",
                           count, limit, taken));
}

// Several sendings, one after the other, as a thing that is tried again until it is done.
struct SendingAll {
  ProxyCore& core;
  const Draft& draft;
  std::vector<SessionId> ids = {};
  std::optional<std::uint64_t> rooms = std::nullopt;  // When there was no room.
  std::optional<Error> failure = std::nullopt;

  // True if this one need not be tried again.
  bool submit(const Destination& destination, EncodedBody& body, bool may_wait) {
    const Result<PeerId> peer = core.resolve(destination);
    Result<SessionId> sent =
        peer ? core.submit(*peer, draft, body) : Result<SessionId>(peer.error());
    if (!sent) {
      const Error why = sent.error();
      if (may_wait && why.code() == Code::overloaded) return false;
      sent = is_tracked(draft) ? fail_session(peer ? *peer : PeerId{}, why)
                               : core.drop_untracked(destination, why);
      if (!sent) {
        failure = why;
        return true;
      }
    }
    ids.push_back(*sent);
    return true;
  }

  // What cannot be sent becomes the outcome of its session.
  Result<SessionId> fail_session(PeerId peer, const Error& why) {
    MUSTER_TRY(
        const SessionId id,
        core.sessions().open({.type = draft.session_type, .peer = peer, .answers = draft.answers}));
    core.sessions().end(id, why);
    core.sessions_changed();
    return id;
  }
};

}  // namespace

Result<std::vector<SessionId>> Proxy::send_all(const Draft& draft, std::vector<SendItem>& items,
                                               const Wait* wait) {
  if (is_tracked(draft)) MUSTER_TRY_OK(check_room_for(*core_, items.size(), wait != nullptr));
  SendingAll sending{*core_, draft};
  sending.ids.reserve(items.size());
  const internal::OnThrow forget([&] { forget_all(*core_, sending.ids); });
  bool may_wait = wait != nullptr;
  const auto step = [&] {
    if (sending.rooms && *sending.rooms == core_->rooms() && may_wait) return false;
    while (sending.ids.size() < items.size() && !sending.failure) {
      SendItem& item = items[sending.ids.size()];
      if (sending.submit(item.destination, item.body, may_wait)) continue;
      sending.rooms = core_->rooms();
      return false;
    }
    return true;
  };
  if (wait != nullptr && attend(*wait, wait->deadline_from([this] { return core_->loop().now(); }),
                                step) == Waited::cancelled) {
    forget_all(*core_, sending.ids);
    return internal::why_not(Waited::cancelled, "wait for room");
  }
  {
    const Turn turn(core_->loop());
    may_wait = false;  // What has found no room in time is an outcome too.
    step();
  }
  if (draft.delivery == Delivery::at_least_once) static_cast<void>(write_kept());
  if (sending.failure) {
    forget_all(*core_, sending.ids);
    return std::move(*sending.failure)
        .during(fmt::format("send to all, after {} of {}", sending.ids.size(), items.size()));
  }
  return std::move(sending.ids);
}

Result<std::vector<Proxy::SendItem>> Proxy::scattered(
    const Draft& draft, std::vector<std::pair<Destination, Value>> bodies) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  if (draft.session_id) return Error(Code::invalid, "scatter: each session has an id of its own");
  std::vector<SendItem> items;
  items.reserve(bodies.size());
  BodyIndex known;
  for (auto& [destination, body] : bodies) {
    const std::size_t first = known.first_like(body);
    if (first < items.size()) {
      items.push_back({std::move(destination), items[first].body});
      continue;
    }
    MUSTER_TRY(EncodedBody encoded,
               encode_body(body, draft.compression, core_->options().body_limits));
    items.push_back({std::move(destination), std::move(encoded)});
  }
  share_parts(*core_, items);
  return items;
}

Result<std::vector<SessionId>> Proxy::iscatter_encoded(
    const Draft& draft, std::vector<std::pair<Destination, EncodedBody>> bodies) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  if (draft.session_id) return Error(Code::invalid, "scatter: each session has an id of its own");
  std::vector<SendItem> items;
  items.reserve(bodies.size());
  for (auto& [destination, body] : bodies) {
    items.push_back({std::move(destination), std::move(body)});
  }
  share_parts(*core_, items);
  return send_all(draft, items, nullptr);
}

Result<std::vector<Proxy::SendItem>> Proxy::addressed(const Audience& audience,
                                                      const Draft& draft) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  if (draft.session_id) return Error(Code::invalid, "broadcast: each session has its own id");
  EncodedBody body;
  MUSTER_TRY_OK(write_body(draft, core_->options().body_limits, body));
  const std::vector<PeerId> peers = [&] {
    const Turn turn(core_->loop());
    return core_->peers().select(audience);
  }();
  std::vector<SendItem> items;
  items.reserve(peers.size());
  for (const PeerId peer : peers) items.push_back({peer, body});
  share_parts(*core_, items);
  return items;
}

Result<std::vector<SessionId>> Proxy::iscatter(const Draft& draft,
                                               std::vector<std::pair<Destination, Value>> bodies) {
  MUSTER_TRY(std::vector<SendItem> items, scattered(draft, std::move(bodies)));
  return send_all(draft, items, nullptr);
}

Result<std::vector<SessionId>> Proxy::ibroadcast(const Audience& audience, const Draft& draft) {
  MUSTER_TRY(std::vector<SendItem> items, addressed(audience, draft));
  return send_all(draft, items, nullptr);
}

Result<Replies> Proxy::send_and_collect(Draft draft, std::vector<SendItem>& items,
                                        const Wait& wait) {
  draft.wants_receipt = draft.session_type == SessionType::notification;
  draft.answers = Answers::by_id;
  const Wait whole(wait.deadline_from([this] { return core_->loop().now(); }), wait.stop());
  MUSTER_TRY(const std::vector<SessionId> ids, send_all(draft, items, &whole));
  const internal::OnThrow forget([&] { forget_all(*core_, ids); });
  Result<Replies> replies = receive_by_id(ids, whole);
  if (!replies) forget_all(*core_, ids);
  return replies;
}

Result<Replies> Proxy::scatter(const Draft& draft,
                               std::vector<std::pair<Destination, Value>> bodies,
                               const Wait& wait) {
  MUSTER_TRY(std::vector<SendItem> items, scattered(draft, std::move(bodies)));
  return send_and_collect(draft, items, wait);
}

Result<Replies> Proxy::broadcast(const Audience& audience, const Draft& draft, const Wait& wait) {
  MUSTER_TRY(std::vector<SendItem> items, addressed(audience, draft));
  return send_and_collect(draft, items, wait);
}

}  // namespace muster::msg
