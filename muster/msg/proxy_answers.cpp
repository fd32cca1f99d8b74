// What becomes of tasks that are handled at least once when they are answered: the
// reply is kept by who gave it, as the task is by who asked, until both are heard of.

#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {
namespace {

using Reply = DoneMessage::Reply;

// What a peer that holds the token may have us remember.
constexpr std::size_t kMaxTold = std::size_t{1} << 20;

}  // namespace

// The peer is done with a message of ours.
void ProxyCore::finish_kept(const PeerRecord& record, PeerLink& link, const DoneMessage& one) {
  KeptMessages& kept = channel(record.id).kept;
  const KeptMessage* there = kept.find(one.id);
  const bool is_task = there != nullptr && there->message.is_tracked &&
                       there->message.head.kind == MessageKind::task_request;
  const SessionId session = is_task ? there->message.head.session : SessionId{};
  if (is_task && !one.refused && one.reply == Reply::kept && sessions_.is_open(session)) {
    link.told.push_back({one.id, session});  // The reply may still be on its way.
    return;
  }
  const std::optional<OutgoingMessage> message = kept.remove(one.id);
  const MessageId known = message ? one.id : MessageId{};
  if (link.told.empty()) {
    heard(link, known);
  } else {
    link.told.push_back({known, {}});
  }
  if (!message) return;
  if (one.refused) return report_dropped(record, *message, *one.refused);
  if (is_task) return done_unanswered(record, session, one.reply);
  if (!message->is_tracked) return;
  IncomingPtr receipt = IncomingPtr::make();
  receipt->head.kind = MessageKind::notification_receive;
  receipt->head.session = message->head.session;
  receipt->head.message = one.id;
  receipt->head.tag = message->head.tag;
  receipt->peer = record.id;
  receipt->names = link.names;
  answer_came(receipt);
}

// A task was handled and is not to be sent again; its reply is under way at best.
void ProxyCore::done_unanswered(const PeerRecord& record, const SessionId& session, Reply reply) {
  if (!sessions_.is_open(session)) return;
  if (reply != Reply::lost) return sessions_.fail_on_loss(session);
  sessions_.end(session,
                Error(Code::failed, fmt::format("{} has handled this task, but its reply was lost",
                                                record.member.name)));
  sessions_changed();
}

// Counts what was told as heard, as far as its replies have come. False if the
// link is no more.
bool ProxyCore::settle_told(PeerLink& link) {
  KeptMessages& kept = channel(link.peer).kept;
  while (!link.told.empty() && !sessions_.is_open(link.told.front().awaited)) {
    const PeerLink::Told one = link.told.front();
    link.told.pop_front();
    if (one.awaited) kept.remove(one.id);
    heard(link, one.id);
  }
  if (link.told.size() <= kMaxTold) return true;
  ++counters_.refused;
  tell({.kind = ProxyEvent::Kind::refused,
        .peer = std::string(link.names.source()),
        .text = "it is done with more and more and does not reply"});
  drop_link(link);
  return false;
}

// The link is no more: what has its reply is not to be sent again.
void ProxyCore::forget_told(const PeerLink& link) {
  for (const PeerLink::Told& one : link.told) {
    if (!one.awaited || sessions_.is_open(one.awaited)) continue;
    if (channel(link.peer).kept.remove(one.id)) removed(one.id);
  }
}

// What is not removed from the store yet would be sent again after a crash: the
// peer must go on to know it.
void ProxyCore::heard(PeerLink& link, const MessageId& id) {
  if (options_.outbox == nullptr) {
    ++link.heard;
    return;
  }
  unheard_.push_back({link.serial, id});
  count_unwritten();
}

Status ProxyCore::answer_task(PeerId peer, const MessageId& task, OutgoingMessage& answer) {
  const PeerRecord* record = peers_.find(peer);
  const bool is_over = end_ || is_leaving_ || record == nullptr;
  if (is_over || record->presence == Presence::left ||
      answer.head.kind != MessageKind::task_complete) {
    return transmit(peer, answer);
  }
  Channel& there = channel(peer);
  const bool stands = there.link != nullptr && there.link->has_begun;
  if (!there.arrivals.has_room_for(task, answer)) {
    Status sent = transmit(peer, answer);
    if (sent) there.arrivals.answer_once(task, stands);
    return sent;
  }
  OutgoingMessage kept = answer;
  bool is_sent = false;
  // What there is no room for goes out once there is, and if there is no link, with the next.
  if (stands && there.arrivals.next_reply() == nullptr) {
    Status sent = hand_over(*there.link, answer);
    if (!sent && sent.error().code() == Code::invalid) return sent;
    is_sent = sent.has_value();
  }
  there.arrivals.answer(task, std::move(kept), is_sent);
  return ok();
}

// Those that the link has not had, as far as there is room.
void ProxyCore::send_replies(PeerId peer) {
  Channel& there = channel(peer);
  while (there.link != nullptr && there.link->has_begun) {
    const OutgoingMessage* reply = there.arrivals.next_reply();
    if (reply == nullptr) return;
    OutgoingMessage again = *reply;
    const Status sent = hand_over(*there.link, again);
    if (!sent && sent.error().code() != Code::invalid) return;
    there.arrivals.reply_sent();
  }
}

std::optional<OutgoingMessage> ProxyCore::reply_to(PeerId peer, const MessageId& task) {
  if (peers_.find(peer) == nullptr) return std::nullopt;
  const OutgoingMessage* reply = channel(peer).arrivals.reply_to(task);
  return reply != nullptr ? std::optional(*reply) : std::nullopt;
}

}  // namespace muster::msg::internal
