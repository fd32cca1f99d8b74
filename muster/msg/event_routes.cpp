#include "muster/msg/event_routes.h"

namespace muster::msg {

void EventRoutes::add(std::string_view tag, EventSources::Id source, EventUnitRef unit) {
  Units& units = tag == "*" ? any_tag_ : tags_[tag];
  units[source].push_back(unit);
}

void EventRoutes::remove(std::string_view tag, EventSources::Id source, EventUnitRef unit) {
  if (tag == "*") return erase(any_tag_, source, unit);
  Units& units = *tags_.find(tag);
  erase(units, source, unit);
  if (units.empty()) tags_.erase(tag);
}

void EventRoutes::append(const Units& units, EventSources::Id source,
                         std::vector<EventUnitRef>& found) {
  if (const auto* there = units.find(source)) {
    found.insert(found.end(), there->begin(), there->end());
  }
}

void EventRoutes::erase(Units& units, EventSources::Id source, EventUnitRef unit) {
  auto& there = *units.find(source);
  std::erase(there, unit);
  if (there.empty()) units.erase(source);
}

}  // namespace muster::msg
