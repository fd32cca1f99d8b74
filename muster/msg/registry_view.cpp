#include "muster/msg/registry_view.h"

namespace muster::msg {

bool RegistryView::see(const Member& member) {
  const auto [place, is_new] = known_.try_emplace(member.name);
  Known& known = place->second;
  if (!is_new && member.incarnation < known.member.incarnation) return false;
  known.seen_in = roll_call_;
  if (!is_new && known.member == member) return false;
  known.member = member;
  return true;
}

std::optional<Member> RegistryView::remove(const std::string& name, std::uint64_t incarnation) {
  const auto place = known_.find(name);
  if (place == known_.end() || place->second.member.incarnation > incarnation) return std::nullopt;
  Member member = std::move(place->second.member);
  known_.erase(place);
  return member;
}

void RegistryView::begin_roll_call() { ++roll_call_; }

std::vector<Member> RegistryView::missing() const {
  std::vector<Member> members;
  for (const auto& [name, known] : known_) {
    if (known.seen_in != roll_call_) members.push_back(known.member);
  }
  return members;
}

const Member* RegistryView::find(const std::string& name) const {
  const auto place = known_.find(name);
  return place != known_.end() ? &place->second.member : nullptr;
}

}  // namespace muster::msg
