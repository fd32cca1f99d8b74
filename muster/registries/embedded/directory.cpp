#include "muster/registries/embedded/directory.h"

#include <algorithm>

namespace muster::registries::embedded {
namespace {

// A call that comes this late was held up by something.
constexpr Duration kLate = std::chrono::milliseconds(20);

Message about(Kind kind, const msg::Member& member) {
  Message message;
  message.kind = kind;
  message.member = member;
  return message;
}

Message with_reason(Message message, const Error& why) {
  message.code = why.code();
  message.text = why.message();
  return message;
}

Message refusal(Code code, std::string text) {
  return with_reason({.kind = Kind::refused}, Error(code, std::move(text)));
}

}  // namespace

Directory::Directory(TimePoint now, const DirectoryState& state, DirectoryLimits limits)
    : limits_(limits), begun_(now), is_inherited_(true), floor_(state.floor) {
  for (const Entry& entry : state.entries) {
    records_[entry.member.name] = {.entry = entry, .seat = 0, .heard = now, .gone_at = 0};
  }
}

Directory::Record* Directory::find(Seat seat) {
  const auto place = seats_.find(seat);
  return place != seats_.end() ? &records_.at(place->second) : nullptr;
}

std::size_t Directory::present() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      records_, [](const auto& named) { return named.second.entry.is_present; }));
}

bool Directory::is_remote(Seat seat) const {
  const auto place = seats_.find(seat);
  return place != seats_.end() && records_.at(place->second).entry.is_remote;
}

std::uint64_t Directory::incarnation_for(const msg::Member& member) const {
  const auto place = records_.find(member.name);
  const bool is_known = place != records_.end();
  const std::uint64_t highest = is_known ? place->second.entry.member.incarnation : floor_;
  // The very same: it was taken in before, and may not know its incarnation yet, or not
  // that it was given a higher one.
  if (is_known && place->second.entry.member.id == member.id) {
    return std::max(highest, member.incarnation);
  }
  if (member.incarnation == 0) return highest + 1;
  return member.incarnation > highest ? member.incarnation : 0;
}

void Directory::tell_others(const Message& message, const std::string& but, Notices& out) const {
  for (const auto& [seat, name] : seats_) {
    if (name != but) out.push_back({seat, message});
  }
}

Notices Directory::announce(Seat seat, const Message& message, int pid, TimePoint now) {
  const std::string& name = message.member.name;
  if (const auto taken = seats_.find(seat); taken != seats_.end() && taken->second != name) {
    return {{seat, refusal(Code::invalid, "one connection stands for one member"), false}};
  }
  const std::uint64_t incarnation = incarnation_for(message.member);
  if (incarnation == 0) {
    return {{seat, refusal(Code::invalid, "a younger incarnation bears the name " + name), true}};
  }
  if (!records_.contains(name) && present() >= limits_.present) {
    return {{seat, refusal(Code::overloaded, "the group is full"), true}};
  }

  Notices out;
  Record& record = records_[name];
  if (record.seat != 0 && record.seat != seat) {
    out.push_back({record.seat,
                   refusal(Code::invalid, "a younger incarnation bears the name " + name), true});
    seats_.erase(record.seat);
  }
  Entry entry{.member = message.member,
              .lease = message.lease,
              .pid = message.is_remote ? 0 : pid,
              .is_present = true,
              .is_remote = message.is_remote};
  entry.member.incarnation = incarnation;
  const bool is_news = !record.entry.is_present || record.entry.member != entry.member;
  if (record.entry != entry) ++changes_;
  record = {.entry = std::move(entry), .seat = seat, .heard = now, .gone_at = 0};
  seats_[seat] = name;

  for (const auto& [other, known] : records_) {
    if (other == name || !known.entry.is_present) continue;
    out.push_back({seat, about(Kind::joined, known.entry.member), false});
  }
  out.push_back({seat, admission(record, now), false});
  if (is_news) tell_others(about(Kind::joined, record.entry.member), name, out);
  return out;
}

Message Directory::admission(const Record& record, TimePoint now) const {
  Message admitted = about(Kind::admitted, record.entry.member);
  admitted.is_complete = is_inherited_ || now - begun_ >= record.entry.lease;
  return admitted;
}

Notices Directory::remind(Seat seat, const msg::Member& known, TimePoint now) {
  const auto place = records_.find(known.name);
  if (!has(seat) || place == records_.end() || known.incarnation >= msg::kMaxIncarnation) return {};
  Record& record = place->second;
  msg::Member& member = record.entry.member;
  if (member.id == known.id || member.incarnation > known.incarnation) return {};
  member.incarnation = known.incarnation + 1;
  ++changes_;
  Notices out;
  if (!record.entry.is_present) return out;
  if (record.seat != 0) out.push_back({record.seat, admission(record, now), false});
  tell_others(about(Kind::joined, member), member.name, out);
  return out;
}

Notices Directory::miss(Seat seat, const msg::Member& known) const {
  if (!has(seat)) return {};
  const auto place = records_.find(known.name);
  if (place != records_.end() && place->second.entry.is_present) {
    return {{seat, about(Kind::joined, place->second.entry.member), false}};
  }
  if (place != records_.end() && place->second.entry.has_left) {
    return {{seat, about(Kind::left, known), false}};
  }
  const Error why(Code::unavailable, known.name + " was gone with who served then");
  return {{seat, with_reason(about(Kind::lost, known), why), false}};
}

Notices Directory::tell_all(Seat seat) const {
  Notices out;
  for (const auto& [name, record] : records_) {
    if (!record.entry.is_present) continue;
    out.push_back({seat, about(Kind::joined, record.entry.member), false});
  }
  out.push_back({seat, {.kind = Kind::counted}, false});
  return out;
}

Notices Directory::beat(Seat seat, TimePoint now) {
  Record* const record = find(seat);
  if (record == nullptr) return {};
  record->heard = now;
  Notices out{{seat, {.kind = Kind::beat}, false}};
  if (record->entry.is_present) return out;
  // Its lease had run out, and nobody has taken its name meanwhile.
  record->entry.is_present = true;
  ++changes_;
  tell_others(about(Kind::joined, record->entry.member), record->entry.member.name, out);
  return out;
}

Notices Directory::leave(Seat seat) {
  Record* const record = find(seat);
  if (record == nullptr) return {{seat, {.kind = Kind::released}, true}};
  Notices out{{seat, {.kind = Kind::released}, true}};
  std::ranges::move(depart(*record, {.kind = Kind::left}), std::back_inserter(out));
  return out;
}

Notices Directory::lose(Seat seat, const Error& why) {
  Record* const record = find(seat);
  if (record == nullptr) return {};
  return depart(*record, with_reason({.kind = Kind::lost}, why));
}

Notices Directory::bury(int pid, const Error& why) {
  Notices out;
  for (auto& [name, record] : records_) {
    if (record.entry.pid != pid || record.seat != 0) continue;
    std::ranges::move(retire(record, with_reason({.kind = Kind::lost}, why)),
                      std::back_inserter(out));
  }
  forget_some();
  return out;
}

void Directory::unseat(Seat seat, TimePoint now) {
  Record* const record = find(seat);
  if (record == nullptr) return;
  record->seat = 0;
  record->heard = now;
  seats_.erase(seat);
}

Notices Directory::depart(Record& record, Message farewell) {
  Notices out = retire(record, std::move(farewell));
  forget_some();
  return out;
}

// Takes the seat away, and tells those who still think that the member is there.
Notices Directory::retire(Record& record, Message farewell) {
  Notices out;
  seats_.erase(record.seat);
  record.seat = 0;
  if (!record.entry.is_present) return out;
  record.entry.is_present = false;
  record.entry.has_left = farewell.kind == Kind::left;
  record.gone_at = ++changes_;
  farewell.member = record.entry.member;
  tell_others(farewell, record.entry.member.name, out);
  return out;
}

Notices Directory::expire(TimePoint due, TimePoint now) {
  const Duration late = now - due;
  Notices out;
  for (auto& [name, record] : records_) {
    if (!record.entry.is_present) continue;
    // What it said meanwhile still waits to be read: time for a beat, at least.
    if (late > kLate) {
      const TimePoint heard = std::min(record.heard + late, now);
      record.heard = std::max(heard, now - record.entry.lease * 3 / 4);
    }
    if (now - record.heard < record.entry.lease) continue;
    record.entry.is_present = false;
    record.gone_at = ++changes_;
    // It keeps its seat: should it only have been stopped, its next beat brings
    // it back.
    const Error why(Code::timeout, name + " was not heard of for its lease");
    tell_others(with_reason(about(Kind::lost, record.entry.member), why), name, out);
  }
  forget_some();
  return out;
}

std::vector<Seat> Directory::overdue(TimePoint now) const {
  std::vector<Seat> seats;
  for (const auto& [name, record] : records_) {
    const bool is_due = record.entry.is_present && now - record.heard >= record.entry.lease;
    if (is_due && record.seat != 0) seats.push_back(record.seat);
  }
  return seats;
}

TimePoint Directory::next_expiry() const {
  TimePoint next = kForever;
  for (const auto& [name, record] : records_) {
    if (record.entry.is_present) next = std::min(next, record.heard + record.entry.lease);
  }
  return next;
}

// Of those who are gone the oldest are forgotten, but for how high they counted.
void Directory::forget_some() {
  const auto is_forgettable = [](const auto& named) {
    return !named.second.entry.is_present && named.second.seat == 0;
  };
  auto absent = static_cast<std::size_t>(std::ranges::count_if(records_, is_forgettable));
  while (absent > limits_.absent) {
    auto oldest = records_.end();
    for (auto place = records_.begin(); place != records_.end(); ++place) {
      if (!is_forgettable(*place)) continue;
      if (oldest == records_.end() || place->second.gone_at < oldest->second.gone_at) {
        oldest = place;
      }
    }
    floor_ = std::max(floor_, oldest->second.entry.member.incarnation);
    records_.erase(oldest);
    --absent;
  }
}

DirectoryState Directory::state() const {
  DirectoryState state{.floor = floor_, .entries = {}};
  for (const auto& [name, record] : records_) state.entries.push_back(record.entry);
  return state;
}

}  // namespace muster::registries::embedded
