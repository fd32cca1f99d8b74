#include "muster/msg/event_routes.h"

namespace muster::msg {

void EventRoutes::add(std::string_view tag, EventSources::Id source, EventUnitRef unit) {
  Units& units = tag == "*" ? any_tag_ : tags_.try_emplace(std::string(tag)).first->second;
  units[source].push_back(unit);
}

void EventRoutes::remove(std::string_view tag, EventSources::Id source, EventUnitRef unit) {
  if (tag == "*") return erase(any_tag_, source, unit);
  const auto entry = tags_.find(tag);
  erase(entry->second, source, unit);
  if (entry->second.empty()) tags_.erase(entry);
}

void EventRoutes::append(const Units& units, EventSources::Id source,
                         std::vector<EventUnitRef>& found) {
  const auto entry = units.find(source);
  if (entry == units.end()) return;
  found.insert(found.end(), entry->second.begin(), entry->second.end());
}

void EventRoutes::erase(Units& units, EventSources::Id source, EventUnitRef unit) {
  const auto entry = units.find(source);
  std::erase(entry->second, unit);
  if (entry->second.empty()) units.erase(entry);
}

}  // namespace muster::msg
