// Messages that are handled at least once: kept here until the peer is done with
// them, and told to the peer when we are.
//
// As a link begins each end says what has come to it and what of that is done
// (MessageKind::holdings). Only then the other sends what it keeps, without these.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"
#include "muster/msg/stored_message.h"

namespace muster::msg::internal {
namespace {

// In one report, so that none is large.
constexpr std::size_t kReported = 4096;
// Nobody who sends as we do has more that are done and that it has not heard of.
constexpr std::size_t kMaxUnconfirmed = std::size_t{1} << 22;

}  // namespace

Status ProxyCore::keep_until_done(PeerId peer, OutgoingMessage& message, TimePoint deadline) {
  PeerRecord* record = peers_.find(peer);
  if (end_ || is_leaving_) return end_ ? *end_ : Error(Code::cancelled, "the proxy is leaving");
  if (record == nullptr) return Error(Code::not_found, "send: this peer is not known any more");
  const std::string& name = record->member.name;
  if (record->presence == Presence::left) {
    return Error(Code::unavailable, fmt::format("send to {}: it has left", name));
  }
  Channel& there = channel(peer);
  const KeptMessage kept{
      .message = message, .deadline = deadline, .is_stored = options_.outbox == nullptr};
  Status pushed = there.kept.push(kept);
  if (!pushed) {
    drop_those_late(peer);
    pushed = there.kept.push(kept);
  }
  if (!pushed) return std::move(pushed).error().during(fmt::format("send to {}", name));
  watch_deadline(peer, deadline);
  if (options_.outbox == nullptr) {
    drain(peer);
  } else {
    unstored_.emplace_back(peer, message.head.message);
    count_unwritten();
  }
  return ok();
}

// As far as there is room.
void ProxyCore::send_until_done(PeerRecord& record) {
  Channel& there = channel(record.id);
  if (there.link == nullptr || is_leaving_) return;
  while (KeptMessage* kept = there.kept.next()) {
    OutgoingMessage message = kept->message;
    message.head.is_redelivered = kept->may_have_come;
    message.head.time_left_ms = time_left(kept->deadline);
    const Status sent = hand_over(*there.link, message);
    if (sent) {
      there.kept.sent(*kept);
      continue;
    }
    // What the link cannot take now it takes once there is room, or the next one does.
    if (sent.error().code() != Code::invalid) return;
    std::vector<OutgoingMessage> dropped;
    dropped.push_back(*there.kept.remove(message.head.message));
    drop_kept(record, dropped, sent.error());
  }
}

void ProxyCore::room_came(PeerLink& link) {
  ++rooms_;
  if (link.has_begun) drain(link.peer);
}

// Sends all that waits for the peer, as far as there is room. A link may find room
// while it is being handed a message: then what is under way here goes on.
void ProxyCore::drain(PeerId peer) {
  if (peers_.find(peer) == nullptr) return;
  Channel& there = channel(peer);
  there.has_room = true;
  if (there.is_draining) return;
  there.is_draining = true;
  while (std::exchange(there.has_room, false)) {
    send_replies(peer);
    send_receipts(peer);
    send_returning(*peers_.find(peer));
    send_backlog(*peers_.find(peer));
    report_done(peer);
    send_until_done(*peers_.find(peer));
  }
  there.is_draining = false;
}

void ProxyCore::report_came(PeerLink& link, const MessageHead& head, const wire::Frame& frame) {
  const Result<DeliveryReport> report =
      decode_report(head.form, head.compression, frame.parts, options_.body_limits);
  if (!report) {
    ++counters_.refused;
    tell({.kind = ProxyEvent::Kind::refused,
          .peer = std::string(link.names.source()),
          .text = report.error().message()});
    return drop_link(link);
  }
  PeerRecord& record = *peers_.find(link.peer);
  for (const DoneMessage& one : report->done) finish_kept(record, link, one);
  if (!settle_told(link)) return;
  if (head.kind == MessageKind::holdings) {
    Channel& there = channel(record.id);
    std::vector<MessageId> held = report->held;
    for (const PeerLink::Told& one : link.told) {
      if (one.awaited) held.push_back(one.id);  // Done, and its reply comes.
    }
    there.kept.link_began(record.member.id, held);
    drop_those_late(record.id);
  }
  ++rooms_;
  drain(record.id);
}

void ProxyCore::removed(const MessageId& id) {
  if (options_.outbox == nullptr) return;
  unheard_.push_back({0, id});
  count_unwritten();
}

void ProxyCore::count_unwritten() {
  unwritten_count_.store(unstored_.size() + unheard_.size(), std::memory_order_relaxed);
}

void ProxyCore::drop_kept(PeerRecord& record, const std::vector<OutgoingMessage>& messages,
                          const Error& why) {
  for (const OutgoingMessage& message : messages) {
    removed(message.head.message);
    report_dropped(record, message, why);
  }
}

// Nobody sends it any more; what is in a store is found there by the next.
void ProxyCore::give_up_kept() {
  for (const PeerId id : peers_.all()) {
    std::size_t count =
        channel(id).backlog.take_all().size() + channel(id).outbox.take_all().size();
    if (options_.outbox == nullptr) count += channel(id).kept.take_all().size();
    if (count == 0) continue;
    counters_.dropped += count;
    tell({.kind = ProxyEvent::Kind::dropped,
          .peer = peers_.find(id)->member.name,
          .text = "the proxy has ended before they were handled",
          .count = count});
  }
}

Status ProxyCore::done(PeerId peer, const MessageId& id, std::optional<Error> refused) {
  const PeerRecord* record = peers_.find(peer);
  if (record == nullptr) return ok();  // Nobody is left who would want to know.
  Arrivals& arrivals = channel(peer).arrivals;
  if (!arrivals.done(id, std::move(refused))) {
    // What the sender never sends again need not be remembered, whoever has it done now.
    const bool is_over = !arrivals.is_done(id);
    if (is_over) forget(record->member.name, {id});
    if (arrivals.done_for_nobody(id)) return ok();
    return Error(Code::invalid, "done: the message was done before");
  }
  drain(peer);  // Not report_done() alone: the link may find room meanwhile, and have all sent.
  return ok();
}

void ProxyCore::report_done(PeerId peer) {
  Channel& there = channel(peer);
  while (there.link != nullptr && there.link->has_begun && there.arrivals.has_unreported()) {
    const DeliveryReport report = there.arrivals.unreported(kReported);
    if (!send_report(*there.link, MessageKind::done, report)) return;
    there.arrivals.told(report.done.size());
  }
}

bool ProxyCore::send_report(PeerLink& link, MessageKind kind, const DeliveryReport& report) {
  Result<EncodedBody> body = encode_report(report);
  if (!body) return false;
  OutgoingMessage message;
  message.head.kind = kind;
  message.head.form = body->form;
  message.head.tag = "done";
  message.head.message = message.head.session = next_message_id();
  message.parts = std::move(body->parts);
  message.priority = Priority::urgent;  // All of them: they are counted in order.
  return hand_over(link, message).has_value();
}

// False if the link is no more.
bool ProxyCore::confirm(PeerLink& link, std::uint32_t count) {
  const PeerRecord& record = *peers_.find(link.peer);
  Arrivals& arrivals = channel(link.peer).arrivals;
  std::vector<MessageId> ids;
  if (!arrivals.confirm(count, ids)) {
    ++counters_.refused;
    tell({.kind = ProxyEvent::Kind::refused,
          .peer = record.member.name,
          .text = "it has heard of what it was not told"});
    drop_link(link);
    return false;
  }
  forget(record.member.name, ids);
  return true;
}

// False if it is none that is to be handled.
bool ProxyCore::take_kept(PeerLink& link, const MessageHead& head, std::size_t cost) {
  Arrivals& arrivals = channel(link.peer).arrivals;
  if (arrivals.unconfirmed() > kMaxUnconfirmed) {
    ++counters_.refused;
    tell({.kind = ProxyEvent::Kind::refused,
          .peer = std::string(link.names.source()),
          .text = "it sends more and more and does not hear what is done"});
    drop_link(link);
    return false;
  }
  if (arrivals.take(head.message)) return true;
  link.link->done(cost);  // It has come before.
  return false;
}

void ProxyCore::forget_arrivals(const PeerRecord& record) {
  forget(record.member.name, channel(record.id).arrivals.clear());
}

void ProxyCore::forget(const std::string& source, const std::vector<MessageId>& ids) {
  if (options_.dedup == nullptr || ids.empty()) return;
  for (const MessageId& id : ids) forgotten_.push_back({source, id});
  has_forgotten_.store(true, std::memory_order_relaxed);
}

std::vector<HandledId> ProxyCore::take_forgotten() {
  has_forgotten_.store(false, std::memory_order_relaxed);
  return std::exchange(forgotten_, {});
}

bool ProxyCore::is_all_done() const {
  return std::ranges::none_of(channels_, [](const auto& there) {
    return there != nullptr && there->link != nullptr &&
           (!there->kept.empty() || there->has_waiting());
  });
}

void ProxyCore::restore(std::vector<Handled> handled, std::vector<StoredMessage> stored) {
  for (Handled& one : handled) restored_done_[one.source].push_back(std::move(one));
  const auto today = std::chrono::system_clock::now();
  for (StoredMessage& one : stored) {
    KeptMessage kept{.message = std::move(one.message), .may_have_come = true};
    if (one.deadline) kept.deadline = loop_.now() + (*one.deadline - today);
    restored_kept_[std::move(one.destination)].push_back(std::move(kept));
  }
}

// What an earlier incarnation of ours had to do with this peer.
void ProxyCore::take_restored(PeerId id, Channel& there) {
  const PeerRecord* record = peers_.find(id);
  if (record == nullptr) return;
  if (auto kept = restored_kept_.extract(record->member.name)) {
    for (KeptMessage& one : kept.mapped()) there.kept.restore(std::move(one));
  }
  if (const auto handled = restored_done_.extract(record->member.name)) {
    for (const Handled& one : handled.mapped()) {
      there.arrivals.restore(one.id, message_from_bytes(one.reply));
    }
  }
}

ProxyCore::Unwritten ProxyCore::take_unwritten() {
  Unwritten unwritten;
  const auto today = std::chrono::system_clock::now();
  for (const auto& [peer, id] : std::exchange(unstored_, {})) {
    const PeerRecord* record = peers_.find(peer);
    const KeptMessage* kept = record != nullptr ? channel(peer).kept.find(id) : nullptr;
    if (kept == nullptr) continue;
    StoredMessage added{record->member.name, kept->message, std::nullopt};
    if (kept->deadline != kForever) added.deadline = today + (kept->deadline - loop_.now());
    unwritten.added.push_back(std::move(added));
  }
  unwritten.unheard = std::exchange(unheard_, {});
  for (const Unheard& one : unwritten.unheard) {
    if (one.id) unwritten.removed.push_back(one.id);
  }
  count_unwritten();
  return unwritten;
}

void ProxyCore::stored(const Unwritten& written, const Status& status) {
  for (const StoredMessage& one : written.added) {
    PeerRecord* record = peers_.find(one.destination);
    if (record == nullptr) continue;
    Channel& there = channel(record->id);
    if (status) {
      there.kept.stored(one.message.head.message);
      drain(record->id);
    } else if (there.kept.remove(one.message.head.message)) {
      report_dropped(*record, one.message, status.error());
    }
  }
  if (!status) {  // Else they would come again after a crash, though they were handled.
    unheard_.insert(unheard_.begin(), written.unheard.begin(), written.unheard.end());
    return count_unwritten();
  }
  std::map<std::uint64_t, std::uint32_t> counts;
  for (const Unheard& one : written.unheard) ++counts[one.link];
  for (const auto& there : channels_) {
    if (there == nullptr || there->link == nullptr) continue;
    if (const auto count = counts.find(there->link->serial); count != counts.end()) {
      there->link->heard += count->second;
    }
  }
}

}  // namespace muster::msg::internal
