#include "muster/msg/peer_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster::msg {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;  // The last '*', and where its text ends so far.
  std::size_t star_end = 0;
  while (in < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_end = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool is_gone(Presence presence) { return presence == Presence::lost || presence == Presence::left; }

}  // namespace

std::string_view name(Presence presence) {
  switch (presence) {
    case Presence::connecting: return "connecting";
    case Presence::here: return "here";
    case Presence::lost: return "lost";
    case Presence::left: return "left";
  }
  return "unknown";
}

bool Audience::has(std::string_view name, std::string_view type) const {
  switch (kind_) {
    case Kind::all: return true;
    case Kind::type: return type == text_;
    case Kind::pattern: return matches(text_, name);
  }
  return false;
}

std::string describe(const Expected& expected) {
  if (!expected.name.empty()) return expected.name;
  return fmt::format("{} of type {}", expected.count, expected.type);
}

PeerTable::Meeting PeerTable::meet(const Member& member) {
  PeerRecord* known = find(member.name);
  if (known == nullptr) {
    const auto free = std::ranges::find(slots_, false, &Slot::is_used);
    const auto slot = static_cast<std::uint32_t>(free - slots_.begin());
    if (free == slots_.end()) slots_.emplace_back();
    Slot& made = slots_[slot];
    made.is_used = true;
    made.record = {{slot, made.generation}, member, {}};
    names_.emplace(member.name, slot);
    return {made.record.id, News::joined};
  }
  const bool is_same_process = known->member.id == member.id;
  if (member.incarnation < known->member.incarnation ||
      (member.incarnation == known->member.incarnation && !is_same_process)) {
    return {known->id, News::stale};
  }
  const bool was_gone = is_gone(known->presence);
  std::vector<std::string> addresses = std::move(known->member.addresses);
  known->member = member;
  if (member.addresses.empty() && is_same_process) known->member.addresses = std::move(addresses);
  if (was_gone || !is_same_process) known->presence = Presence::connecting;
  if (was_gone) return {known->id, News::returned};
  return {known->id, is_same_process ? News::same : News::replaced};
}

PeerRecord* PeerTable::find(PeerId id) {
  return const_cast<PeerRecord*>(std::as_const(*this).find(id));
}

const PeerRecord* PeerTable::find(PeerId id) const {
  if (id.slot >= slots_.size()) return nullptr;
  const Slot& slot = slots_[id.slot];
  return slot.is_used && slot.generation == id.generation ? &slot.record : nullptr;
}

PeerRecord* PeerTable::find(std::string_view name) {
  const auto found = names_.find(name);
  return found != names_.end() ? &slots_[found->second].record : nullptr;
}

void PeerTable::remove(PeerId id) {
  const PeerRecord* record = find(id);
  if (record == nullptr) return;
  names_.erase(record->member.name);
  Slot& slot = slots_[id.slot];
  slot.is_used = false;
  ++slot.generation;
  slot.record = {};
}

std::vector<PeerId> PeerTable::select(const Audience& audience) const {
  std::vector<PeerId> chosen;
  for (const auto& [name, slot] : names_) {
    const PeerRecord& record = slots_[slot].record;
    if (is_gone(record.presence) || !audience.has(name, record.member.type)) continue;
    chosen.push_back(record.id);
  }
  return chosen;
}

std::vector<PeerId> PeerTable::all() const {
  std::vector<PeerId> ids;
  for (const auto& [name, slot] : names_) ids.push_back(slots_[slot].record.id);
  return ids;
}

bool PeerTable::has(const Expected& expected) const {
  std::size_t count = 0;
  for (const Slot& slot : slots_) {
    if (!slot.is_used || slot.record.presence != Presence::here) continue;
    if (!expected.name.empty() ? slot.record.member.name == expected.name
                               : slot.record.member.type == expected.type) {
      ++count;
    }
  }
  return count >= (expected.name.empty() ? expected.count : 1);
}

}  // namespace muster::msg
