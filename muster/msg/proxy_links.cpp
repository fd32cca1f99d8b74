// A proxy's links: who dials, who is who, and what follows when one breaks.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {
namespace {

using wire::Value;

const std::string* text_of(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value != nullptr ? value->as_string() : nullptr;
}

std::uint64_t number_of(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value != nullptr ? value->as_unsigned().value_or(0) : 0;
}

}  // namespace

Channel& ProxyCore::channel(PeerId id) {
  if (id.slot >= channels_.size()) channels_.resize(id.slot + 1);
  std::unique_ptr<Channel>& there = channels_[id.slot];
  if (there != nullptr) return *there;
  there = std::make_unique<Channel>(options_, [this, id] { dial(id); });
  take_restored(id, *there);
  return *there;
}

const Channel* ProxyCore::find_channel(PeerId id) const {
  return id.slot < channels_.size() ? channels_[id.slot].get() : nullptr;
}

// Of two, the one with the lower id dials, so that there is one link.
void ProxyCore::consider_dialing(PeerId id) {
  const PeerRecord& record = *peers_.find(id);
  const Channel& there = channel(id);
  if (!is_admitted_ || is_leaving_ || end_ || !(self_.id < record.member.id)) return;
  if (record.presence != Presence::connecting || there.link != nullptr ||
      there.dialing != nullptr || there.redial.is_armed()) {
    return;
  }
  dial(id);
}

void ProxyCore::dial(PeerId id) {
  const PeerRecord* record = peers_.find(id);
  if (record == nullptr || record->presence != Presence::connecting || is_leaving_ || end_) return;
  std::vector<net::Address> addresses;
  for (const std::string& text : record->member.addresses) {
    if (Result<net::Address> address = net::Address::parse(text)) addresses.push_back(*address);
  }
  Channel& there = channel(id);
  there.dialing = std::make_unique<PeerLink>(*this, ++last_serial_, id);
  there.dialing->link = endpoint_->connect(addresses, *there.dialing);
}

void ProxyCore::link_up(PeerLink& link) {
  if (is_admitted_) introduce(link);
}

void ProxyCore::introduce(PeerLink& link, std::uint64_t fenced_by) {
  Value::Map body{
      {"group", options_.group}, {"type", options_.type}, {"incarnation", self_.incarnation}};
  if (fenced_by != 0) body.push_back({"fenced", fenced_by});
  OutgoingMessage message;
  Result<EncodedBody> encoded = encode_body(body);
  message.head.kind = MessageKind::introduction;
  message.head.form = encoded->form;
  message.head.tag = "introduction";
  message.head.message = message.head.session = next_message_id();
  message.parts = std::move(encoded->parts);
  message.priority = Priority::urgent;
  // A link that cannot take it is about to end.
  link.has_introduced = hand_over(link, message).has_value();
  if (link.has_introduced && link.is_introduced) begin(link);
}

// Where there is no room for it, the registry's word has to do.
void ProxyCore::say_farewell(PeerLink& link) {
  if (!link.has_begun) return;
  OutgoingMessage message;
  message.head.kind = MessageKind::farewell;
  message.head.tag = "farewell";
  message.head.message = message.head.session = next_message_id();
  if (options_.outbox != nullptr) {  // The next of our name sends what is not done.
    Result<EncodedBody> body = encode_body(Value::Map{{"keeps", true}});
    message.head.form = body->form;
    message.parts = std::move(body->parts);
  }
  message.priority = Priority::idle;  // Behind all that was said.
  static_cast<void>(hand_over(link, message));
}

void ProxyCore::introduction_came(PeerLink& link, const MessageHead& head,
                                  const wire::Frame& frame) {
  const Result<Value> body =
      decode_body(head.form, head.compression, frame.parts, options_.body_limits);
  const std::string* type = body ? text_of(*body, "type") : nullptr;
  const std::string* group = body ? text_of(*body, "group") : nullptr;
  const net::LinkPeer& peer = link.link->peer();
  const Member member{.name = peer.name,
                      .type = type != nullptr ? *type : "",
                      .id = peer.id,
                      .incarnation = body ? number_of(*body, "incarnation") : 0,
                      .addresses = {}};
  if (type == nullptr || group == nullptr || *group != options_.group || member.name.empty() ||
      member.name == self_.name || member.incarnation == 0) {
    ++counters_.refused;
    tell({.kind = ProxyEvent::Kind::refused,
          .peer = peer.name,
          .text = "it introduced itself as nobody of this group"});
    return drop_link(link);
  }
  if (const std::uint64_t fenced = number_of(*body, "fenced"); fenced != 0) {
    return fenced_by(link, fenced);
  }
  bind(link, member);
}

// The peer at the other end knows one of our name that counts as high, or higher. The
// registry has the last word: it ends us, or gives us a higher incarnation. Only while it
// cannot be asked the peer's word will do.
void ProxyCore::fenced_by(PeerLink& link, std::uint64_t incarnation) {
  if (!is_registry_away_ || incarnation <= self_.incarnation || self_.incarnation == 0) {
    return drop_link(link);
  }
  const Error why(Code::invalid, "fenced: a younger incarnation bears this name");
  tell({.kind = ProxyEvent::Kind::fenced, .peer = link.link->peer().name, .text = why.message()});
  end_with(why);
}

// `link` is to `member`: that one is here, unless it is not the one we know.
void ProxyCore::bind(PeerLink& link, const Member& member) {
  PeerRecord* known = peers_.find(member.name);
  // Dialled for one who is not there any more, perhaps at the same address.
  const bool is_other = link.peer && (known == nullptr || known->id != link.peer);
  if (is_other) return link.link->close();
  const bool is_younger = known != nullptr && known->member.id != member.id &&
                          member.incarnation > known->member.incarnation;
  if (is_younger) {
    if (Channel& there = channel(known->id); there.dialing.get() == &link) {
      strangers_.push_back(std::move(there.dialing));  // Or it would go with the old one.
      link.peer = {};
    }
    gone(*known, Presence::lost, Error(Code::unavailable, "it was started anew"));
  }
  const PeerTable::Meeting meeting = peers_.meet(member);
  if (meeting.news == PeerTable::News::stale) {
    const Member& younger = peers_.find(meeting.id)->member;
    introduce(link, younger.incarnation);
    link.link->close();
    if (membership_ != nullptr) membership_->remind(younger);
    return;
  }
  PeerRecord& record = *peers_.find(meeting.id);
  Channel& there = channel(meeting.id);
  if (there.link.get() == &link) return;  // It has told us again, with another incarnation.
  if (there.link != nullptr) {
    break_link(record, Error(Code::unavailable, "another link took its place"));
  }
  std::unique_ptr<PeerLink> taken = take_link(link);
  if (there.dialing != nullptr) destroy_later(std::move(there.dialing));
  there.link = std::move(taken);
  loop_.stop(there.redial);
  there.backoff.reset();
  link.peer = meeting.id;
  link.names = Names(record.member.name, self_.name);
  link.is_introduced = true;
  record.presence = Presence::here;
  tell({.kind = std::exchange(there.was_here, true) ? ProxyEvent::Kind::returned
                                                    : ProxyEvent::Kind::joined,
        .peer = member.name});
  presence_changed();
  if (link.has_introduced) begin(link);
}

// Both ends know each other: what waited may go.
void ProxyCore::begin(PeerLink& link) {
  if (std::exchange(link.has_begun, true)) return;
  PeerRecord& record = *peers_.find(link.peer);
  Channel& there = channel(link.peer);
  // First of all, so that the peer knows what it need not send again.
  const DeliveryReport holdings = there.arrivals.begin_link();
  if (send_report(link, MessageKind::holdings, holdings)) {
    there.arrivals.told(holdings.done.size());
  }
  has_returned(record);
  drain(record.id);
}

// Takes it from wherever it is kept.
std::unique_ptr<PeerLink> ProxyCore::take_link(PeerLink& link) {
  const auto is_it = [&](const std::unique_ptr<PeerLink>& one) { return one.get() == &link; };
  if (const auto found = std::ranges::find_if(strangers_, is_it); found != strangers_.end()) {
    std::unique_ptr<PeerLink> taken = std::move(*found);
    strangers_.erase(found);
    return taken;
  }
  for (const auto& there : channels_) {
    if (there == nullptr) continue;
    if (is_it(there->dialing)) return std::move(there->dialing);
    if (is_it(there->link)) return std::move(there->link);
  }
  return nullptr;
}

void ProxyCore::destroy_later(std::unique_ptr<PeerLink> link) {
  if (link == nullptr) return;
  link->is_dead = true;
  doomed_.push_back(std::move(link));
  loop_.flush_later(*this);
}

void ProxyCore::flush() { doomed_.clear(); }

// It has said what may not be said, or its end was told.
void ProxyCore::drop_link(PeerLink& link) {
  PeerRecord* record = link.is_introduced ? peers_.find(link.peer) : nullptr;
  if (record != nullptr && channel(record->id).link.get() == &link) {
    break_link(*record, Error(Code::invalid, "it said what is no message"));
    return;
  }
  const PeerId dialed = link.peer;
  destroy_later(take_link(link));
  if (const PeerRecord* there = peers_.find(dialed);
      there != nullptr && there->presence == Presence::connecting) {
    Channel& its = channel(dialed);
    loop_.start(its.redial, loop_.now() + its.backoff.next(options_.random()));
  }
}

void ProxyCore::link_closed(PeerLink& link, const Error& why) {
  PeerRecord* record = link.is_introduced ? peers_.find(link.peer) : nullptr;
  if (record == nullptr || channel(record->id).link.get() != &link) return drop_link(link);
  if (record->presence == Presence::left) return gone(*record, Presence::left, why);
  break_link(*record, why);
}

// The link to a member is no more; the member may be.
void ProxyCore::break_link(PeerRecord& record, const Error& why) {
  Channel& there = channel(record.id);
  const net::LinkCounters counters = there.link->link->counters();
  there.past.messages_sent += counters.messages_sent;
  there.past.messages_received += counters.messages_received;
  there.past.bytes_sent += counters.bytes_sent;
  there.past.bytes_received += counters.bytes_received;
  forget_told(*there.link);
  destroy_later(std::move(there.link));
  // Among those that waited in the link, what is kept is not lost.
  const std::size_t kept = there.kept.under_way() + there.arrivals.replies();
  const std::size_t lost = counters.messages_queued - std::min(counters.messages_queued, kept);
  there.kept.link_broke();
  there.receipts.clear();
  for (OutgoingMessage& message : there.backlog.take_all()) {
    if (const Status put = keep(record, message); !put) {
      report_dropped(record, message, put.error());
    }
  }
  ++rooms_;  // Who waits for room finds out.
  const std::string& name = record.member.name;
  if (lost > 0) {
    counters_.dropped += lost;
    tell({.kind = ProxyEvent::Kind::dropped,
          .peer = name,
          .text = "they waited in a link that broke",
          .count = lost});
  }
  sessions_.lose(record.id, Error(Code::unavailable,
                                  fmt::format("the link to {} broke: {}", name, why.message())));
  sessions_changed();
  if (record.presence != Presence::here || is_leaving_ || end_) return;
  record.presence = Presence::connecting;
  tell({.kind = ProxyEvent::Kind::link_broke, .peer = name, .text = why.message()});
  presence_changed();
  if (self_.id < record.member.id) {
    loop_.start(there.redial, loop_.now() + there.backoff.next(options_.random()));
  }
}

net::Driver* ProxyCore::sharing_driver() const {
  const auto found = std::ranges::find_if(
      options_.drivers, [](const net::Driver* driver) { return driver->scheme() == "shm"; });
  return found != options_.drivers.end() ? *found : nullptr;
}

net::Link* ProxyCore::some_link(std::string_view scheme) const {
  for (const auto& there : channels_) {
    if (there == nullptr || there->link == nullptr) continue;
    net::Link& link = *there->link->link;
    if (link.is_up() && (scheme.empty() || link.peer().scheme == scheme)) return &link;
  }
  return nullptr;
}

}  // namespace muster::msg::internal
