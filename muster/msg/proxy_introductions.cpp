// How the two ends of a link come to know each other, and which of two links stays.
//
// Of two components the one with the lower id dials first, and the other once nothing has
// come of that for a while: it may be that only it can reach the other. So two links can
// come up at once. The one with the lower id chooses between them, whoever has dialled:
//
// - The other introduces itself on each link as it comes up, and says which choice it has
//   heard last. The one who chooses says nothing on a link but to choose it, by its own
//   introduction, which bears a number that counts its choices.
// - It chooses each link on which the other has introduced itself, in the place of the one
//   before, unless that stands and the other had not heard yet that it was chosen.
// - The other takes a link for chosen unless it has heard of a later choice.
//
// Messages go only on a link that was chosen. Both ends take links for chosen in the same
// order, and hear nothing more of one once they have taken the next: what was sent on it
// and has not come is lost with it, or sent again, and never comes later than what was sent
// on the next. A link that both have, and that stands at both, is never given up for another.

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

bool ProxyCore::chooses(const PeerLink& link) const { return self_.id < link.link->peer().id; }

bool ProxyCore::may_introduce(const PeerLink& link) const {
  return !chooses(link) || link.is_introduced;
}

// The last choice of the process at the other end that we have heard of.
std::uint64_t ProxyCore::heard_choice(const PeerLink& link) {
  const PeerRecord* record = peers_.find(link.link->peer().name);
  if (record == nullptr) return 0;
  const Channel& there = channel(record->id);
  return there.chooser == link.link->peer().id ? there.heard_choice : 0;
}

void ProxyCore::introduce(PeerLink& link, std::uint64_t fenced_by) {
  Value::Map body{
      {"group", options_.group}, {"type", options_.type}, {"incarnation", self_.incarnation}};
  body.push_back({"choice", chooses(link) ? link.choice : heard_choice(link)});
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
  bind(link, member, number_of(*body, "choice"));
}

// The peer at the other end knows one of our name that counts as high, or higher. The
// registry has the last word: it ends us, or gives us a higher incarnation. Only while it
// cannot be asked the peer's word will do.
void ProxyCore::fenced_by(PeerLink& link, std::uint64_t incarnation) {
  if (!registry_away_ || incarnation <= self_.incarnation || self_.incarnation == 0) {
    return drop_link(link);
  }
  const Error why(Code::invalid, "fenced: a younger incarnation bears this name");
  tell({.kind = ProxyEvent::Kind::fenced, .peer = link.link->peer().name, .text = why.message()});
  end_with(why);
}

// Whether `link`, which is to a process that we know, takes the place of the one before.
// `choice` is what the other end has said: which one it makes, or which it has heard last.
bool ProxyCore::is_chosen(const PeerLink& link, const PeerRecord& record, std::uint64_t choice) {
  // What it said before it left was overtaken by its farewell.
  if (record.presence == Presence::left) return false;
  if (!chooses(link)) return choice > heard_choice(link);
  const PeerLink* stands = channel(record.id).link.get();
  return stands == nullptr || !stands->link->is_up() || choice >= stands->choice;
}

// `link` is to `member`: that one is here, unless it is not the one we know.
void ProxyCore::bind(PeerLink& link, const Member& member, std::uint64_t choice) {
  PeerRecord* known = peers_.find(member.name);
  // Dialled for one who is not there any more, perhaps at the same address.
  const bool is_other = link.peer && (known == nullptr || known->id != link.peer);
  if (is_other) return link.link->close();
  const bool is_same = known != nullptr && known->member.id == member.id;
  if (is_same && channel(known->id).link.get() != &link && !is_chosen(link, *known, choice)) {
    return drop_link(link);
  }
  if (known != nullptr && !is_same && member.incarnation > known->member.incarnation) {
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
  if (chooses(link)) {
    link.choice = ++last_choice_;
  } else {
    there.chooser = member.id;
    there.heard_choice = choice;
  }
  record.presence = Presence::here;
  tell({.kind = std::exchange(there.was_here, true) ? ProxyEvent::Kind::returned
                                                    : ProxyEvent::Kind::joined,
        .peer = member.name});
  presence_changed();
  if (link.has_introduced) return begin(link);
  if (is_admitted_) introduce(link);
}

// Both ends know each other: what waited may go.
void ProxyCore::begin(PeerLink& link) {
  if (std::exchange(link.has_begun, true)) return;
  PeerRecord& record = *peers_.find(link.peer);
  link.is_for_users = record.presence == Presence::here;
  Channel& there = channel(link.peer);
  // First of all, so that the peer knows what it need not send again.
  const DeliveryReport holdings = there.arrivals.begin_link();
  if (send_report(link, MessageKind::holdings, holdings)) {
    there.arrivals.told(holdings.done.size());
  }
  has_returned(record);
  drain(record.id);
}

}  // namespace muster::msg::internal
