// EventRoutes: which units a message of a tag, from given sources, belongs to.
// Pure. A lookup costs the same however many events there are.

#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "muster/msg/event_map.h"
#include "muster/msg/event_sources.h"
#include "muster/msg/flat_map.h"

namespace muster::msg {

// Counts up in order of registration, from 1; never given twice.
using EventId = std::uint64_t;

// A unit of an event, by its place in the condition's text.
struct EventUnitRef {
  EventId event = 0;
  std::uint32_t unit = 0;

  auto operator<=>(const EventUnitRef&) const = default;
};

class EventRoutes {
 public:
  // `tag` may be "*".
  void add(std::string_view tag, EventSources::Id source, EventUnitRef unit);
  void remove(std::string_view tag, EventSources::Id source, EventUnitRef unit);

  // Appends the units for a message of this tag; sources() is asked for the
  // sources that its sender matches, and only if there is an event for the tag.
  template <class Sources>
  void find(std::string_view tag, Sources sources, std::vector<EventUnitRef>& found) const {
    const Units* const exact = tags_.find(tag);
    if (exact == nullptr && any_tag_.empty()) return;
    for (const EventSources::Id source : sources()) {
      if (exact != nullptr) append(*exact, source, found);
      if (!any_tag_.empty()) append(any_tag_, source, found);
    }
  }

 private:
  using Units = FlatMap<EventSources::Id, std::vector<EventUnitRef>>;

  static void append(const Units& units, EventSources::Id source, std::vector<EventUnitRef>& found);
  static void erase(Units& units, EventSources::Id source, EventUnitRef unit);

  EventMap<Units> tags_;
  Units any_tag_;
};

}  // namespace muster::msg
