// Desk: an event table and who talks to it, each step in a line.

#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/msg/event_table.h"

namespace muster::msg {

using Tickets = std::vector<EventTicket>;

// A table, and who talks to it. Tickets count up from 1, time stands still
// unless it is moved.
struct Desk {
  EventTable table;
  TimePoint now{std::chrono::hours(1)};
  EventTicket last = 0;

  explicit Desk(EventOptions options = {}) : table(options) {}

  EventId add(const EventCondition& condition) {
    const Result<EventId> id = table.add(condition);
    EXPECT_TRUE(id) << id.error().message();
    return id ? *id : 0;
  }
  // From "worker_3", the type is what stands before the line.
  EventOutcome push(std::string_view source, std::string_view tag) {
    return table.push({source, type_of(source), tag, ++last}, now);
  }
  EventOutcome join(std::string_view name) { return table.joined(name, type_of(name), now); }
  EventOutcome lose(std::string_view name) { return table.left(name, now); }
  EventOutcome wait(Duration time) { return table.advance(now += time); }

  static std::string_view type_of(std::string_view name) { return name.substr(0, name.find('_')); }
};

// What a call fired: of one event, whole or partial.
inline EventFiring whole(EventId event, Tickets tickets) {
  return {event, std::move(tickets), false};
}
inline EventFiring part(EventId event, Tickets tickets) {
  return {event, std::move(tickets), true};
}

using Firings = std::vector<EventFiring>;

}  // namespace muster::msg
