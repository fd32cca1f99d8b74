// A proxy's links: who dials, and what follows when one breaks.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {
namespace {

// How long the one who is to dial first may take before the other tries.
constexpr Duration kOthersTurn = std::chrono::seconds(1);

}  // namespace

Channel& ProxyCore::channel(PeerId id) {
  if (id.slot >= channels_.size()) channels_.resize(id.slot + 1);
  std::unique_ptr<Channel>& there = channels_[id.slot];
  if (there != nullptr) return *there;
  there = std::make_unique<Channel>(
      options_, [this, id] { dial(id); }, [this, id] { drop_those_late(id); });
  take_restored(id, *there);
  watch_deadline(id, there->next_deadline());
  return *there;
}

const Channel* ProxyCore::find_channel(PeerId id) const {
  return id.slot < channels_.size() ? channels_[id.slot].get() : nullptr;
}

void ProxyCore::consider_dialing(PeerId id) {
  const PeerRecord& record = *peers_.find(id);
  Channel& there = channel(id);
  if (!is_admitted_ || is_leaving_ || end_) return;
  if (record.presence != Presence::connecting || there.link != nullptr ||
      there.dialing != nullptr || there.redial.is_armed()) {
    return;
  }
  if (self_.id < record.member.id) return dial(id);
  loop_.start(there.redial, loop_.now() + kOthersTurn);
}

void ProxyCore::dial_later(const PeerRecord& record) {
  Channel& there = channel(record.id);
  const Duration pause = there.backoff.next(options_.random());
  const bool is_our_turn = self_.id < record.member.id;
  loop_.start(there.redial, loop_.now() + pause + (is_our_turn ? Duration() : kOthersTurn));
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
  if (is_admitted_ && may_introduce(link)) introduce(link);
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
    dial_later(*there);
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
  watch_deadline(record.id, there.next_deadline());
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
  dial_later(record);
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
