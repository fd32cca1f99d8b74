// How a message leaves a proxy: over the link that stands, or into the cache.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {

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
  message.is_tracked = draft.session_type == SessionType::task || draft.wants_receipt;
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
  KeptRequest kept{message.head, message.parts, message.priority, stands};
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
  // All that was kept has been handed over when a link stands.
  if (there != nullptr && there->link != nullptr && there->link->peer == peer &&
      there->link->has_begun && !is_leaving_) {
    if (!there->backlog.empty()) {
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
  while (there.link != nullptr && there.link->has_begun && !there.backlog.empty()) {
    OutgoingMessage message = *there.backlog.next();
    const Status sent = hand_over(*there.link, message);
    if (!sent && sent.error().code() != Code::invalid) return;
    there.backlog.pop();
    if (!sent) report_dropped(record, message, sent.error());
  }
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
  std::vector<OutgoingMessage> dropped;
  Status kept = channel(record.id).outbox.push(message, dropped);
  const Error why(Code::overloaded, fmt::format("the cache for {}, who is away, was full", name));
  for (OutgoingMessage& gone : dropped) report_dropped(record, gone, why);
  if (!kept) return std::move(kept).error().during(fmt::format("send to {}", name));
  return kept;
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

// The peer is here again: what waited for it goes first, in the order of its making.
void ProxyCore::send_kept(PeerRecord& record) {
  ++rooms_;
  std::vector<OutgoingMessage> all;
  for (OutgoingMessage& message : channel(record.id).outbox.take_all()) {
    const auto state = sessions_.state(message.head.session);
    const bool is_over = message.is_tracked && (!state || *state != Session::State::requested);
    if (!is_over) all.push_back(std::move(message));
  }
  for (KeptRequest* request : sessions_.kept_for(record.id)) {
    OutgoingMessage again{request->head, request->parts, request->priority, true};
    again.head.is_redelivered = std::exchange(request->was_sent, true);
    all.push_back(std::move(again));
  }
  std::ranges::sort(all, {}, [](const OutgoingMessage& m) { return m.head.message.low; });
  for (OutgoingMessage& message : all) {
    const Channel& there = channel(record.id);
    if (there.link == nullptr) return;
    Status sent = there.backlog.empty() ? hand_over(*there.link, message)
                                        : Error(Code::overloaded, "others wait before it");
    if (!sent && sent.error().code() == Code::overloaded) {
      sent = make_way(record.id, message, std::move(sent).error());
    }
    if (!sent) report_dropped(record, message, sent.error());
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
