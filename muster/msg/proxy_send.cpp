// A proxy's sending calls: one request, several, or one to many.

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"
#include "muster/msg/same_body.h"

namespace muster::msg {

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
  if (!draft.tag.is_valid() || !wire::is_utf8(draft.tag.text())) {
    return Error(Code::invalid, fmt::format("send: a tag is 1 to {} bytes of UTF-8", kMaxTag));
  }
  if (static_cast<std::uint8_t>(draft.priority) >= net::kPriorities) {
    return Error(Code::invalid, "send: there is no such priority");
  }
  return ok();
}

Result<EncodedBody> body_of(const Draft& draft, const BodyLimits& limits) {
  if (draft.encoded) return *draft.encoded;
  return encode_body(draft.body, draft.compression, limits);
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
    Result<SessionId> sent = peer ? core.submit(*peer, draft, body) : peer.error();
    if (sent) {
      id = *sent;
      static_cast<void>(core.sessions().watch(id, watch));
      return true;
    }
    if (sent.error().code() == Code::overloaded) {
      rooms = core.rooms();
    } else {
      outcome.emplace(std::move(sent).error());
    }
    return false;
  }
};

// Memory that all processes of this host can read; empty if there is none.
WritableBuffer shared_memory(ProxyCore& core, std::size_t size) {
  const Turn turn(core.loop());
  net::Link* const link = core.some_link("shm");
  if (link == nullptr) return {};
  Result<WritableBuffer> memory = link->allocate(size);
  return memory ? *std::move(memory) : WritableBuffer();
}

// Copies large parts to such memory. Not under the baton: it takes a while.
void share_parts(ProxyCore& core, EncodedBody& body) {
  for (Buffer& part : body.parts) {
    const bool is_shared = part.owner() != nullptr && part.owner()->origin() != nullptr;
    if (part.size() < net::kLargePart || is_shared) continue;
    WritableBuffer memory = shared_memory(core, part.size());
    if (memory.data() == nullptr) return;
    std::memcpy(memory.data(), part.data(), part.size());
    part = std::move(memory).freeze(part.size());
  }
}

std::size_t count_of(ProxyCore& core, const Audience& audience) {
  const Turn turn(core.loop());
  return core.peers().select(audience).size();
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
  MUSTER_TRY(EncodedBody body, body_of(draft, core_->options().body_limits));
  Sending sending{*core_, draft, body};
  const Waited waited =
      internal::wait_for(core_->loop(), wait, deadline, [&sending] { return sending.step(); });
  if (!sending.outcome) {
    const Turn turn(core_->loop());
    core_->sessions().forget(sending.id);
  }
  call_back();
  if (sending.outcome) return to_message(*sending.outcome);
  return internal::why_not(waited,
                           fmt::format("send {} to {}", draft.tag.text(), draft.destination.name));
}

Result<SessionId> Proxy::isend(const Draft& draft) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  MUSTER_TRY(EncodedBody body, body_of(draft, core_->options().body_limits));
  const Turn turn(core_->loop());
  MUSTER_TRY(const PeerId peer, core_->resolve(draft.destination));
  return core_->submit(peer, draft, body);
}

loop::Future<Message> Proxy::request(Draft draft) {
  const auto promise = std::make_shared<loop::Promise<Message>>(core_->loop());
  loop::Future<Message> future = promise->future();
  const auto try_to = [&]() -> Status {
    MUSTER_TRY_OK(core_->check_process());
    MUSTER_TRY_OK(check(draft));
    draft.answers = Answers::by_id;
    draft.wants_receipt = draft.session_type == SessionType::notification;
    MUSTER_TRY(EncodedBody body, body_of(draft, core_->options().body_limits));
    const Turn turn(core_->loop());
    MUSTER_TRY(const PeerId peer, core_->resolve(draft.destination));
    MUSTER_TRY_OK(
        core_->submit(peer, draft, body, [this, promise](const SessionTable::Outcome& outcome) {
          promise->set(to_message(outcome));
        }));
    return ok();
  };
  if (Status sent = try_to(); !sent) promise->set(sent.error());
  return future;
}

// What cannot be sent becomes the outcome of its session.
Result<std::vector<SessionId>> Proxy::send_all(const Draft& draft, std::vector<SendItem>& items) {
  std::vector<SessionId> ids;
  ids.reserve(items.size());
  const Turn turn(core_->loop());
  for (SendItem& item : items) {
    const Result<PeerId> peer = core_->resolve(item.destination);
    Result<SessionId> sent =
        peer ? core_->submit(*peer, draft, item.body) : Result<SessionId>(peer.error());
    if (!sent) {
      const Error why = sent.error();
      sent = core_->sessions().open(
          {.type = draft.session_type, .peer = peer ? *peer : PeerId{}, .answers = draft.answers});
      if (!sent) return why;
      core_->sessions().end(*sent, why);
      core_->sessions_changed();
    }
    ids.push_back(*sent);
  }
  return ids;
}

Result<std::vector<SessionId>> Proxy::iscatter(const Draft& draft,
                                               std::vector<std::pair<Destination, Value>> bodies) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  if (draft.session_id) return Error(Code::invalid, "scatter: each session has an id of its own");
  std::vector<SendItem> items;
  items.reserve(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    auto& [destination, body] = bodies[i];
    if (i > 0 && is_same_body(body, bodies[i - 1].second)) {
      items.push_back({std::move(destination), items.back().body});
      continue;
    }
    MUSTER_TRY(EncodedBody encoded,
               encode_body(body, draft.compression, core_->options().body_limits));
    items.push_back({std::move(destination), std::move(encoded)});
  }
  return send_all(draft, items);
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
  return send_all(draft, items);
}

Result<std::vector<SessionId>> Proxy::ibroadcast(const Audience& audience, const Draft& draft) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check(draft));
  if (draft.session_id) return Error(Code::invalid, "broadcast: each session has its own id");
  MUSTER_TRY(EncodedBody body, body_of(draft, core_->options().body_limits));
  if (count_of(*core_, audience) > 1) share_parts(*core_, body);
  const Turn turn(core_->loop());
  const std::vector<PeerId> peers = core_->peers().select(audience);
  std::vector<SendItem> items;
  items.reserve(peers.size());
  for (const PeerId peer : peers) items.push_back({peer, body});
  return send_all(draft, items);
}

Result<Replies> Proxy::scatter(const Draft& draft,
                               std::vector<std::pair<Destination, Value>> bodies,
                               const Wait& wait) {
  Draft tracked = draft;
  tracked.wants_receipt = draft.session_type == SessionType::notification;
  tracked.answers = Answers::by_id;
  MUSTER_TRY(const std::vector<SessionId> ids, iscatter(tracked, std::move(bodies)));
  return receive_by_id(ids, wait);
}

Result<Replies> Proxy::broadcast(const Audience& audience, const Draft& draft, const Wait& wait) {
  Draft tracked = draft;
  tracked.wants_receipt = draft.session_type == SessionType::notification;
  tracked.answers = Answers::by_id;
  MUSTER_TRY(const std::vector<SessionId> ids, ibroadcast(audience, tracked));
  return receive_by_id(ids, wait);
}

}  // namespace muster::msg
