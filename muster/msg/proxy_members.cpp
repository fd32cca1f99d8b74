// A proxy's membership: what the registry says, and what follows from it.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {

void ProxyCore::on_admitted(const Member& self) {
  const bool is_new = self.incarnation != self_.incarnation;
  self_.incarnation = self.incarnation;
  if (!std::exchange(is_admitted_, true)) admitted_at_ = loop_.now();
  if (std::exchange(registry_away_, std::nullopt)) tell({.kind = ProxyEvent::Kind::registry_back});
  // Those who have heard another incarnation, or none, hear this one.
  for (const auto& stranger : strangers_) {
    if (stranger->link->is_up() && may_introduce(*stranger) &&
        (is_new || !stranger->has_introduced)) {
      introduce(*stranger);
    }
  }
  for (const PeerId id : peers_.all()) {
    const Channel& there = channel(id);
    for (PeerLink* link : {there.link.get(), there.dialing.get()}) {
      if (link != nullptr && link->link->is_up() && may_introduce(*link) &&
          (is_new || !link->has_introduced)) {
        introduce(*link);
      }
    }
    consider_dialing(id);
  }
}

void ProxyCore::on_joined(const Member& member) {
  if (is_leaving_ || member.name == self_.name) return;
  PeerRecord* const known = peers_.find(member.name);
  const bool is_same = known != nullptr && known->member.id == member.id;
  // It has told us itself; the registry does not know it yet.
  if (is_same && known->presence == Presence::left) return;
  if (known != nullptr && !is_same && member.incarnation > known->member.incarnation) {
    gone(*known, Presence::lost, Error(Code::unavailable, "it was started anew"));
  }
  const PeerTable::Meeting meeting = peers_.meet(member);
  if (meeting.news == PeerTable::News::stale) return membership_->remind(known->member);
  consider_dialing(meeting.id);
}

void ProxyCore::on_left(const Member& member) {
  PeerRecord* record = peers_.find(member.name);
  if (record == nullptr || record->member.id != member.id) return;
  if (channel(record->id).link != nullptr) return said_goodbye(*record);
  gone(*record, Presence::left, Error(Code::unavailable, fmt::format("{} has left", member.name)));
}

// What it said before may still be under way; the link's end comes after it. Nothing that is
// said to it now would be heard.
void ProxyCore::said_goodbye(PeerRecord& record) {
  if (std::exchange(record.presence, Presence::left) == Presence::left) return;
  channel(record.id).link->is_for_users = false;
  ++rooms_;  // There will be none: who waits for it finds out.
  tell({.kind = ProxyEvent::Kind::left, .peer = record.member.name});
  presence_changed();
}

// The registry says the same, but perhaps only after the link has ended, which
// would then look as if it had broken.
void ProxyCore::farewell_came(PeerLink& link, const MessageHead& head) {
  PeerRecord& record = *peers_.find(link.peer);
  Channel& there = channel(record.id);
  if (there.link.get() != &link) return;
  there.is_last_word = head.form == BodyForm::none;
  said_goodbye(record);
}

void ProxyCore::on_lost(const Member& member, const Error& why) {
  PeerRecord* record = peers_.find(member.name);
  if (record == nullptr || record->member.id != member.id) return;
  gone(*record, Presence::lost, why);
}

// Ends all that is between us and this incarnation.
void ProxyCore::gone(PeerRecord& record, Presence presence, const Error& why) {
  Channel& there = channel(record.id);
  loop_.stop(there.redial);
  const bool was_gone = record.presence == Presence::lost || record.presence == Presence::left;
  const bool is_last_word = std::exchange(there.is_last_word, false);
  record.presence = presence;
  ++rooms_;  // There will be none: who waits for it finds out.
  if (there.dialing != nullptr) destroy_later(std::move(there.dialing));
  if (there.link != nullptr) break_link(record, why);
  const Error told =
      Error(Code::unavailable, fmt::format("{} is gone: {}", record.member.name, why.message()));
  // What was sent to one who was away already waits for the return.
  if (!was_gone || presence == Presence::left) sessions_.lose(record.id, told);
  sessions_changed();
  if (presence == Presence::left) {
    for (OutgoingMessage& message : there.outbox.take_all()) {
      report_dropped(record, message, told);
    }
    drop_kept(record, there.kept.take_all(), told);
    // Else the next of its name may send again what it has not heard to be done.
    if (is_last_word) forget_arrivals(record);
  }
  if (!was_gone) {
    tell({.kind = presence == Presence::left ? ProxyEvent::Kind::left : ProxyEvent::Kind::lost,
          .peer = record.member.name,
          .text = why.message()});
    presence_changed();
  }
  forget_absent();
}

// Names that come once must not fill the memory. The choice among the absent
// does not matter much: who has messages or requests waiting, or may send some again,
// is kept longest.
void ProxyCore::forget_absent() {
  std::vector<PeerId> absent;
  for (const PeerId id : peers_.all()) {
    const Presence presence = peers_.find(id)->presence;
    const bool is_absent = presence == Presence::lost || presence == Presence::left;
    // The last words of one who leaves may still be under way.
    if (is_absent && channel(id).link == nullptr) absent.push_back(id);
  }
  if (absent.size() <= options_.max_absent_peers) return;
  const auto chosen = std::ranges::min_element(absent, {}, [this](PeerId id) {
    const Channel& there = channel(id);
    const bool is_over = peers_.find(id)->presence == Presence::left && there.arrivals.empty();
    return std::pair(!is_over,
                     there.outbox.count() + there.kept.count() + sessions_.kept_for(id).size());
  });
  PeerRecord& record = *peers_.find(*chosen);
  const Error why(Code::unavailable, fmt::format("{} is forgotten", record.member.name));
  for (OutgoingMessage& message : channel(*chosen).outbox.take_all()) {
    report_dropped(record, message, why);
  }
  drop_kept(record, channel(*chosen).kept.take_all(), why);
  sessions_.end_with(*chosen, why);
  sessions_changed();
  forget_arrivals(record);
  channels_[chosen->slot].reset();
  peers_.remove(*chosen);
}

void ProxyCore::on_unreachable(const Error& why) {
  if (std::exchange(registry_away_, why)) return;
  tell({.kind = ProxyEvent::Kind::registry_unreachable, .text = why.describe()});
}

void ProxyCore::on_ended(Error why) {
  membership_.reset();
  if (why.code() == Code::invalid) tell({.kind = ProxyEvent::Kind::fenced, .text = why.message()});
  end_with(why);
}

void ProxyCore::end_with(const Error& why) {
  if (end_) return;
  end_ = why;
  ++rooms_;  // Who waits for it finds out.
  endpoint_->stop_listening();
  loop_.stop(minimum_timer_);
  for (auto& stranger : strangers_) destroy_later(std::move(stranger));
  strangers_.clear();
  if (!is_leaving_) {  // Fenced, or not wanted: nobody is to hear from us any more.
    for (const PeerId id : peers_.all()) {
      Channel& there = channel(id);
      loop_.stop(there.redial);
      if (there.dialing != nullptr) destroy_later(std::move(there.dialing));
      if (there.link != nullptr) destroy_later(std::move(there.link));
    }
  }
  sessions_.end_all(why);
  sessions_changed();
  tell_receivable();
  give_up_kept();
}

void ProxyCore::leave() {
  if (std::exchange(is_leaving_, true) || end_) return;
  ++rooms_;  // Who waits for it finds out.
  endpoint_->stop_listening();
  for (auto& stranger : strangers_) destroy_later(std::move(stranger));
  strangers_.clear();
  for (const PeerId id : peers_.all()) {
    Channel& there = channel(id);
    loop_.stop(there.redial);
    if (there.dialing != nullptr) destroy_later(std::move(there.dialing));
    if (there.link == nullptr) continue;
    say_farewell(*there.link);
    there.link->link->close();
  }
  sessions_.end_all(Error(Code::cancelled, "the proxy has left"));
  sessions_changed();
  give_up_kept();
  membership_->leave();
}

bool ProxyCore::has_left() const {
  if (!end_) return false;
  return std::ranges::none_of(
      channels_, [](const auto& there) { return there != nullptr && there->link != nullptr; });
}

bool ProxyCore::has(const std::vector<Expected>& expected) const {
  return std::ranges::all_of(expected, [this](const Expected& one) { return peers_.has(one); });
}

std::string ProxyCore::missing_of(const std::vector<Expected>& expected) const {
  std::string missing;
  for (const Expected& one : expected) {
    if (peers_.has(one)) continue;
    missing += (missing.empty() ? "" : ", ") + msg::describe(one);
  }
  return missing;
}

bool ProxyCore::has_met_expected() {
  if (!has_met_expected_) has_met_expected_ = is_joined() && has(options_.expected);
  return has_met_expected_;
}

void ProxyCore::presence_changed() {
  ++changes_;
  has_met_expected();  // Before any of them leaves again.
  if (options_.minimum.empty() || end_) return;
  const bool is_met = has(options_.minimum);
  was_minimum_met_ |= is_met;
  if (!was_minimum_met_ || is_met != is_below_minimum_) return;
  is_below_minimum_ = !is_met;
  if (is_met) {
    loop_.stop(minimum_timer_);
    return tell({.kind = ProxyEvent::Kind::enough_peers});
  }
  loop_.start(minimum_timer_, loop_.now() + options_.minimum_deadline);
  tell({.kind = ProxyEvent::Kind::too_few_peers, .text = missing_of(options_.minimum)});
}

void ProxyCore::minimum_missed() {
  tell({.kind = ProxyEvent::Kind::minimum_missed, .text = missing_of(options_.minimum)});
  if (options_.on_too_few != nullptr) is_decision_due_.store(true, std::memory_order_relaxed);
}

void ProxyCore::decide(TooFew decision) {
  if (!is_below_minimum_ || end_ || is_leaving_) return;  // There are enough again.
  if (decision == TooFew::wait) {
    loop_.start(minimum_timer_, loop_.now() + options_.minimum_deadline);
  } else if (decision == TooFew::end) {
    ends_job_.store(true, std::memory_order_relaxed);
    const Error why(Code::unavailable,
                    fmt::format("too few peers for too long: {}", missing_of(options_.minimum)));
    sessions_.end_all(why);
    leave();
    end_with(why);
  }
}

}  // namespace muster::msg::internal
