// EventEntry: one registered event, its needs and what waits for it. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/msg/event_condition.h"
#include "muster/msg/event_waiting.h"

namespace muster::msg {

class EventEntry {
 public:
  // Of a condition without error. Percentages are of no peers at first.
  explicit EventEntry(const EventCondition& condition);

  // The units, in the order in which they stand in the text.
  const std::vector<EventUnit>& units() const { return units_; }

  // How many live peers match the source of `unit`.
  void set_peers(std::uint32_t unit, std::size_t peers);

  void add(EventTicket ticket, std::string_view sender, TimePoint at,
           std::span<const std::uint32_t> units) {
    waiting_.add(ticket, sender, at, units);
  }

  // What the event takes, the oldest first, if its condition is met: of all
  // groups that hold, every part; of any groups, the first part that is met.
  std::optional<std::vector<EventTicket>> fire();

  // What the event takes when its time has come: of every unit as much as
  // there is, up to its need. At least the oldest message.
  std::vector<EventTicket> fire_partially();

  // Takes the oldest messages out of `unit` until it keeps no more than
  // `limit`, or than it needs; appends those that are in no unit any more.
  void trim(std::uint32_t unit, std::size_t limit, std::vector<EventTicket>& dropped);

  std::vector<EventTicket> take_all() { return waiting_.take_all(); }

  // When fire_partially() is due; kForever if never.
  TimePoint deadline() const;
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // A node of the condition; its parts follow it.
  struct Step {
    EventCondition::Kind kind;
    std::uint32_t unit;  // Of Kind::unit.
    std::size_t end;     // The step behind its last part.
  };

  void compile(const EventCondition& condition);
  bool is_met(std::uint32_t unit) const { return waiting_.count(unit) >= needs_[unit]; }
  // Whether the step is met; appends to chosen_ the units that make it so.
  bool choose(std::size_t step);

  std::vector<EventUnit> units_;
  std::vector<std::size_t> needs_;
  std::vector<Step> steps_;
  std::optional<Duration> bound_;
  EventWaiting waiting_;
  std::vector<std::uint32_t> chosen_;
};

}  // namespace muster::msg
