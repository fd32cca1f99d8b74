// How a message leaves a proxy: over the link that stands, or into the cache.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {
namespace {

// Between two looks for what is too late: each looks at all that waits for a peer.
constexpr Duration kExpiryPause = std::chrono::milliseconds(10);

// The link takes it once there is room, or the next one does.
bool is_to_wait(const Status& sent) {
  return !sent &&
         (sent.error().code() == Code::overloaded || sent.error().code() == Code::unavailable);
}

Error too_late(const PeerRecord& record) {
  return {Code::timeout,
          fmt::format("its deadline passed while it waited for {}", record.member.name)};
}

}  // namespace

Result<PeerId> ProxyCore::resolve(const Destination& destination) const {
  if (destination.id) {
    if (peers_.find(destination.id) != nullptr) return destination.id;
    return Error(Code::not_found, "send: this peer is not known any more");
  }
  const PeerRecord* record = const_cast<PeerTable&>(peers_).find(destination.name);
  if (record != nullptr) return record->id;
  return Error(Code::not_found,
               fmt::format("send: there is no {} in group {}; peers() lists who is there",
                           destination.name, options_.group));
}

std::uint32_t ProxyCore::time_left(TimePoint deadline) const {
  if (deadline == kForever) return 0;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - loop_.now());
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left.count(), 1, UINT32_MAX));
}

void ProxyCore::fill_head(MessageHead& head, const Draft& draft, const EncodedBody& body,
                          SessionId session) {
  head.kind = kind_of(draft.session_type, Stage::request);
  head.form = body.form;
  head.compression = body.compression;
  head.is_kept = draft.delivery == Delivery::at_least_once;
  // Of one that is kept, to be done with it is the receipt.
  head.wants_receipt =
      draft.session_type == SessionType::notification && draft.wants_receipt && !head.is_kept;
  head.time_left_ms = time_left(draft.deadline);
  head.message = next_message_id();
  // One that nobody waits for needs an id all the same.
  head.session = session ? session : head.message;
  head.tag = draft.tag;
}

Result<SessionId> ProxyCore::submit(PeerId peer, const Draft& draft, EncodedBody& body,
                                    SessionWatch* watch,
                                    std::function<void(SessionTable::Outcome)> done) {
  OutgoingMessage message;
  message.is_tracked = is_tracked(draft);
  SessionId session = draft.session_id;
  const bool is_kept = draft.delivery == Delivery::at_least_once;
  if (message.is_tracked) {
    MUSTER_TRY(session, sessions_.open({.id = draft.session_id,
                                        .type = draft.session_type,
                                        .peer = peer,
                                        .deadline = draft.deadline,
                                        .on_loss = is_kept ? OnLoss::wait : draft.on_loss,
                                        .answers = draft.answers,
                                        .watch = watch,
                                        .done = std::move(done)}));
    if (draft.deadline != kForever) sessions_changed();
  }
  fill_head(message.head, draft, body, session);
  message.parts = std::move(body.parts);
  message.priority = draft.priority;
  message.deadline = draft.deadline;
  Status sent = is_kept ? keep_until_done(peer, message, draft.deadline)
                        : send_request(peer, message, draft.on_loss);
  if (sent) return message.head.session;
  body.parts = std::move(message.parts);
  if (message.is_tracked) sessions_.withdraw(session);
  return std::move(sent).error();
}

Status ProxyCore::send_request(PeerId peer, OutgoingMessage& message, OnLoss on_loss) {
  if (on_loss == OnLoss::fail || !message.is_tracked) return transmit(peer, message);
  const PeerRecord* record = peers_.find(peer);
  if (end_ || is_leaving_ || record == nullptr || record->presence == Presence::left) {
    return transmit(peer, message);  // It knows the error.
  }
  const Channel* there = find_channel(peer);
  const bool stands = there != nullptr && there->link != nullptr && there->link->has_begun;
  KeptRequest kept{message.head, message.parts, message.priority, stands, message.deadline};
  if (!stands && sessions_.kept_bytes() + kept.size() > options_.absent.max_bytes) {
    return Error(Code::overloaded,
                 fmt::format("send to {}: requests that wait for peers who are away fill {} bytes",
                             record->member.name, sessions_.kept_bytes()));
  }
  if (stands) MUSTER_TRY_OK(transmit(peer, message));
  // Not there: it is sent as soon as it is, as all that is kept.
  sessions_.keep(message.head.session, std::move(kept));
  return ok();
}

Status ProxyCore::hand_over(PeerLink& link, OutgoingMessage& message) {
  if (!link.told.empty() && !settle_told(link)) {
    return Error(Code::unavailable, "the link was given up");
  }
  wire::Frame frame;
  message.head.heard = link.heard;
  write_message_head(message.head, frame.head);
  const std::uint64_t traced = trace_ != nullptr ? bytes_of(message.parts) : 0;
  frame.parts = std::move(message.parts);
  Status sent = link.link->send(frame, {0, static_cast<std::uint8_t>(message.priority)});
  if (!sent) message.parts = std::move(frame.parts);
  if (trace_ != nullptr && sent) note(link, message.head, traced, true);
  return sent;
}

Status ProxyCore::transmit(PeerId peer, OutgoingMessage& message) {
  const Channel* there = find_channel(peer);
  if (there != nullptr && there->link != nullptr && there->link->peer == peer &&
      there->link->is_for_users && !is_leaving_) {
    if (there->has_waiting() && there->link->link->is_up()) {
      return make_way(peer, message, Error(Code::overloaded, "others wait to be sent before it"));
    }
    Status sent = hand_over(*there->link, message);
    if (sent) return sent;
    if (sent.error().code() == Code::overloaded) {
      return make_way(peer, message, std::move(sent).error());
    }
    if (sent.error().code() != Code::unavailable) return sent;
    // It is about to be told broken: what could still be kept is.
  }
  const PeerRecord* record = peers_.find(peer);
  if (end_ || is_leaving_) return end_ ? *end_ : Error(Code::cancelled, "the proxy is leaving");
  if (record == nullptr) return Error(Code::not_found, "send: this peer is not known any more");
  return keep(*record, message);
}

// For a peer that is here, and whose link is full.
Status ProxyCore::make_way(PeerId peer, OutgoingMessage& message, Error full) {
  const bool may_drop = message.head.kind == MessageKind::notification_request;
  if (!may_drop || options_.when_full == DropPolicy::refuse) return full;
  const PeerRecord& record = *peers_.find(peer);
  std::vector<OutgoingMessage> dropped;
  if (options_.when_full == DropPolicy::newest) {
    dropped.push_back(std::move(message));
  } else {
    channel(peer).backlog.push(std::move(message), dropped);
  }
  const Error why(Code::overloaded, fmt::format("the queue for {} was full", record.member.name));
  for (const OutgoingMessage& gone : dropped) report_dropped(record, gone, why);
  if (!dropped.empty()) sessions_changed();
  return ok();
}

void ProxyCore::send_backlog(const PeerRecord& record) {
  Channel& there = channel(record.id);
  if (!there.outbox.empty() || !there.again.empty()) return;  // They are older.
  while (there.link != nullptr && there.link->is_for_users && !there.backlog.empty()) {
    OutgoingMessage message = *there.backlog.next();
    const Status sent = send_late(record, message);
    if (is_to_wait(sent)) return;
    there.backlog.pop();
    if (!sent) drop_late(record, message, sent.error());
  }
}

// One that has waited, with what is left of its time.
Status ProxyCore::send_late(const PeerRecord& record, OutgoingMessage& message) {
  if (message.deadline <= loop_.now()) return too_late(record);
  message.head.time_left_ms = time_left(message.deadline);
  return hand_over(*channel(record.id).link, message);
}

// Where a session waits, its own deadline tells it.
void ProxyCore::drop_late(const PeerRecord& record, const OutgoingMessage& message,
                          const Error& why) {
  if (message.is_tracked && why.code() == Code::timeout) return;
  report_dropped(record, message, why);
  sessions_changed();
}

// For a peer that is not here: into its cache, if it may wait for it.
Status ProxyCore::keep(const PeerRecord& record, OutgoingMessage& message) {
  const std::string& name = record.member.name;
  if (record.presence == Presence::left) {
    return Error(Code::unavailable, fmt::format("send to {}: it has left", name));
  }
  const bool is_task = message.head.kind == MessageKind::task_request;
  if (record.presence == Presence::lost && (is_task || !message.head.is_request())) {
    return Error(Code::unavailable, fmt::format("send to {}: it is lost", name));
  }
  Outbox& outbox = channel(record.id).outbox;
  if (!outbox.has_room_for(message)) {
    for (const OutgoingMessage& late : outbox.take_late(loop_.now())) {
      drop_late(record, late, too_late(record));
    }
  }
  const TimePoint deadline = message.deadline;
  std::vector<OutgoingMessage> dropped;
  Status kept = outbox.push(message, dropped);
  const Error why(Code::overloaded, fmt::format("the cache for {}, who is away, was full", name));
  for (OutgoingMessage& gone : dropped) report_dropped(record, gone, why);
  if (!kept) return std::move(kept).error().during(fmt::format("send to {}", name));
  watch_deadline(record.id, deadline);
  return kept;
}

void ProxyCore::watch_deadline(PeerId peer, TimePoint deadline) {
  loop::Timer& expiry = channels_[peer.slot]->expiry;
  if (deadline == kForever || (expiry.is_armed() && expiry.due() <= deadline)) return;
  loop_.start(expiry, std::max(deadline, loop_.now() + kExpiryPause));
}

// Of what waits for a peer. Who sent it hears at its deadline, not when the peer returns.
void ProxyCore::drop_those_late(PeerId peer) {
  PeerRecord* const record = peers_.find(peer);
  if (record == nullptr) return;
  Channel& there = channel(peer);
  for (const OutgoingMessage& late : there.outbox.take_late(loop_.now())) {
    drop_late(*record, late, too_late(*record));
  }
  drop_kept(*record, there.kept.expire(loop_.now()), too_late(*record));
  ++rooms_;
  watch_deadline(peer, there.next_deadline());
}

void ProxyCore::report_dropped(const PeerRecord& record, const OutgoingMessage& message,
                               const Error& why) {
  ++counters_.dropped;
  tell({.kind = ProxyEvent::Kind::dropped,
        .peer = record.member.name,
        .text = why.message(),
        .count = 1,
        .session = message.head.session});
  if (message.is_tracked) sessions_.end(message.head.session, why);
}

// Nobody waits for what becomes of it, so it is told as all that is dropped.
SessionId ProxyCore::drop_untracked(const Destination& destination, const Error& why) {
  const PeerRecord* const record =
      destination.id ? peers_.find(destination.id) : peers_.find(destination.name);
  const SessionId id = next_message_id();
  ++counters_.dropped;
  tell({.kind = ProxyEvent::Kind::dropped,
        .peer = record != nullptr ? record->member.name : destination.name,
        .text = why.message(),
        .count = 1,
        .session = id});
  return id;
}

// The peer is here again: what waited for it goes first, as drain() finds room.
void ProxyCore::has_returned(const PeerRecord& record) {
  ++rooms_;
  std::deque<SessionId>& again = channel(record.id).again;
  again.clear();
  for (const KeptRequest* request : sessions_.kept_for(record.id)) {
    again.push_back(request->head.session);
  }
}

// What was made first, of both the cache and the requests, without those that nobody waits
// for any more.
std::optional<OutgoingMessage> ProxyCore::next_returning(Channel& there) {
  const auto is_over = [this](const OutgoingMessage& message) {
    const SessionId id = message.head.session;
    return message.is_tracked &&
           (sessions_.state(id) != Session::State::requested || sessions_.kept(id) != nullptr);
  };
  while (!there.outbox.empty() && is_over(there.outbox.front())) there.outbox.pop();
  while (!there.again.empty() && sessions_.kept(there.again.front()) == nullptr) {
    there.again.pop_front();
  }
  const OutgoingMessage* cached = there.outbox.empty() ? nullptr : &there.outbox.front();
  if (there.again.empty()) return cached != nullptr ? std::optional(*cached) : std::nullopt;
  const KeptRequest& request = *sessions_.kept(there.again.front());
  if (cached != nullptr && cached->head.message.low < request.head.message.low) return *cached;
  OutgoingMessage message{request.head, request.parts, request.priority, true, request.deadline};
  message.head.is_redelivered = request.was_sent;
  return message;
}

void ProxyCore::send_returning(const PeerRecord& record) {
  Channel& there = channel(record.id);
  while (there.link != nullptr && there.link->is_for_users && !is_leaving_) {
    std::optional<OutgoingMessage> message = next_returning(there);
    if (!message) return;
    const SessionId id = message->head.session;
    const bool is_request = !there.again.empty() && there.again.front() == id;
    const Status sent = send_late(record, *message);
    if (is_to_wait(sent)) return;
    KeptRequest* const request = is_request && sent ? sessions_.kept(id) : nullptr;
    if (request != nullptr) request->was_sent = true;
    if (is_request) {
      there.again.pop_front();
    } else {
      there.outbox.pop();
    }
    if (!sent) drop_late(record, *message, sent.error());
  }
}

void ProxyCore::message_refused(PeerLink& link, wire::Frame& frame, const Error& why) {
  const PeerRecord* record = peers_.find(link.peer);
  const Result<MessageHead> head = read_message_head(frame.head);
  if (record == nullptr || !head) return;
  if (head->is_kept) channel(record->id).kept.remove(head->message);
  removed(head->message);
  ++counters_.dropped;
  tell({.kind = ProxyEvent::Kind::dropped,
        .peer = record->member.name,
        .text = why.message(),
        .count = 1,
        .session = head->session});
  if (head->is_request()) sessions_.end(head->session, why);
}

}  // namespace muster::msg::internal
