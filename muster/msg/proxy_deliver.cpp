// What comes to a proxy: to whom it goes.

#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {
namespace {

// Receipts and refusals for one peer that wait for room.
constexpr std::size_t kMaxReceipts = std::size_t{1} << 16;

std::string_view why_unwanted(SessionTable::Verdict verdict) {
  switch (verdict) {
    case SessionTable::Verdict::repeated: return "it was answered before";
    case SessionTable::Verdict::late: return "its session is over";
    case SessionTable::Verdict::unknown: return "there never was such a session";
    default: return "it does not fit its session";
  }
}

// Reads the head. Null, or what is wrong with it.
const char* why_refused(const PeerLink& link, const wire::Frame& frame, MessageHead& head) {
  if (const char* fault = read_message_head(frame.head, head)) return fault;
  if (!link.is_introduced && head.kind != MessageKind::introduction &&
      head.kind != MessageKind::question) {
    return "it spoke before it introduced itself";
  }
  return head.kind == MessageKind::report ? "a report that nobody wanted" : nullptr;
}

}  // namespace

void ProxyCore::message_came(PeerLink& link, wire::Frame& frame, net::Lane lane, std::size_t cost) {
  IncomingPtr incoming = IncomingPtr::make();
  MessageHead& head = incoming->head;
  if (const char* fault = why_refused(link, frame, head)) [[unlikely]] {
    ++counters_.refused;
    tell({.kind = ProxyEvent::Kind::refused,
          .peer = link.link->peer().name,
          .text = fmt::format("a message's head: {}", fault)});
    return drop_link(link);
  }
  if (head.heard != 0 && link.is_introduced && !confirm(link, head.heard)) return;
  if (head.is_for_proxy()) {
    link.link->done(cost);
    switch (head.kind) {
      case MessageKind::introduction: return introduction_came(link, head, frame);
      case MessageKind::question: return question_came(link);
      case MessageKind::farewell: return farewell_came(link, head);
      default: return report_came(link, head, frame);
    }
  }
  if (head.is_kept && !take_kept(link, head, cost)) return;
  if (trace_ != nullptr) note(link, head, bytes_of(frame.parts), false);
  incoming->encoded.form = head.form;
  incoming->encoded.compression = head.compression;
  incoming->encoded.parts = std::move(frame.parts);
  incoming->peer = link.peer;
  incoming->names = link.names;
  incoming->priority = static_cast<Priority>(lane.priority);
  if (head.time_left_ms != 0) {
    incoming->deadline = loop_.now() + std::chrono::milliseconds(head.time_left_ms);
  }
  // Answers never hold their sender back: it was asked for them.
  if (!head.is_request()) {
    link.link->done(cost);
    answer_came(incoming);
    if (!link.told.empty()) settle_told(link);
    return;
  }
  if (mailbox_.is_full()) {
    incoming->owed = cost;
    incoming->link = link.serial;
  } else {
    link.link->done(cost);
  }
  deliver(std::move(incoming));
}

void ProxyCore::deliver(IncomingPtr incoming) {
  mailbox_.push(std::move(incoming));
  if (!when_receivable_.empty()) tell_receivable();
}

void ProxyCore::when_receivable(std::function<void()> action) {
  when_receivable_.push_back(std::move(action));
  if (has_waiting() || end_) tell_receivable();
}

void ProxyCore::tell_receivable() {
  for (const auto& action : std::exchange(when_receivable_, {})) action();
}

void ProxyCore::answer_came(IncomingPtr& incoming) {
  using Verdict = SessionTable::Verdict;
  const Verdict verdict = sessions_.take(incoming);
  if (verdict == Verdict::finished || verdict == Verdict::advanced) return;
  if (verdict == Verdict::deliver) return deliver(std::move(incoming));
  if (incoming->head.is_redelivered) return;  // It has come before, by a link that broke.
  ++counters_.unwanted;
  tell({.kind = ProxyEvent::Kind::unwanted,
        .peer = std::string(incoming->names.source()),
        .text = fmt::format("a {} of {}: {}", msg::name(incoming->head.stage()),
                            incoming->head.tag.text(), why_unwanted(verdict)),
        .session = incoming->head.session});
}

void ProxyCore::put_back(IncomingPtr incoming) {
  put_back_.push_back(std::move(incoming));
  tell_receivable();
}

IncomingPtr ProxyCore::take_waiting() {
  if (!put_back_.empty()) {  // It was acknowledged then.
    IncomingPtr incoming = std::move(put_back_.front());
    put_back_.pop_front();
    return incoming;
  }
  IncomingPtr incoming = mailbox_.pop();
  if (incoming->owed == 0 && !incoming->head.wants_receipt) return incoming;
  const Channel* there = find_channel(incoming->peer);
  if (there == nullptr || there->link == nullptr) return incoming;
  if (incoming->owed != 0 && there->link->serial == incoming->link) {
    there->link->link->done(incoming->owed);
  }
  if (incoming->head.wants_receipt) {
    OutgoingMessage receipt;
    receipt.head.kind = MessageKind::notification_receive;
    receipt.head.session = incoming->head.session;
    receipt.head.message = next_message_id();
    receipt.head.tag = incoming->head.tag;
    receipt.priority = incoming->priority;
    send_receipt(incoming->peer, receipt);
  }
  return incoming;
}

// One that cannot be sent for another reason than want of room is one that the
// sender does not get: it was told of the broken link.
void ProxyCore::send_receipt(PeerId peer, OutgoingMessage& receipt) {
  const Status sent = transmit(peer, receipt);
  if (!sent && sent.error().code() == Code::overloaded) {
    static_cast<void>(send_when_room(peer, receipt));
  }
}

Status ProxyCore::send_when_room(PeerId peer, OutgoingMessage& small) {
  if (peers_.find(peer) == nullptr)
    return Error(Code::not_found, "this peer is not known any more");
  std::deque<OutgoingMessage>& waiting = channel(peer).receipts;
  // Who has so many to come does not read: to hear of one less is all the same to it.
  if (waiting.size() == kMaxReceipts) {
    return Error(Code::overloaded, "the peer does not read what it was answered");
  }
  waiting.push_back(std::move(small));
  return ok();
}

void ProxyCore::send_receipts(PeerId peer) {
  Channel& there = channel(peer);
  while (!there.receipts.empty() && there.link != nullptr && there.link->has_begun) {
    if (!hand_over(*there.link, there.receipts.front())) return;
    there.receipts.pop_front();
  }
}

void ProxyCore::refuse(const Incoming& incoming, const Error& why) {
  ++counters_.refused;
  tell({.kind = ProxyEvent::Kind::refused,
        .peer = std::string(incoming.names.source()),
        .text = why.message(),
        .session = incoming.head.session});
  if (incoming.head.is_kept) static_cast<void>(done(incoming.peer, incoming.head.message, why));
  if (incoming.head.kind != MessageKind::task_request) return;
  const Result<EncodedBody> body = encode_body(error_to_value(why));
  if (!body) return;
  OutgoingMessage answer;
  answer.head.kind = MessageKind::task_complete;
  answer.head.is_failure = true;
  answer.head.form = body->form;
  answer.head.session = incoming.head.session;
  answer.head.message = next_message_id();
  answer.head.tag = incoming.head.tag;
  answer.parts = body->parts;
  send_receipt(incoming.peer, answer);
}

}  // namespace muster::msg::internal
