// EventTable: keeps messages until the conditions that events wait for are met.
// Pure: no clock, no thread, no handler. Time and membership are told to it, and
// what it returns is for the caller to act on.
//
// An event sees what is pushed after it was added. A message goes to every
// event with a unit that matches it, and each event takes messages for itself:
// no event takes one from another, and none hands out one twice. Between calls
// no event's condition is met. docs/reference/events.md has it with examples.
//
// A push that matches nothing costs the same however many events there are and,
// once warm, allocates nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/msg/event_condition.h"
#include "muster/msg/event_entry.h"
#include "muster/msg/event_routes.h"
#include "muster/msg/event_sources.h"

namespace muster::msg {

struct EventOptions {
  // How many messages a unit keeps at most, at least 1. A percentage may need,
  // and keep, as many as there are peers.
  std::size_t waiting_limit = 4096;
};

struct EventArrival {
  std::string_view source;  // The sender's name,
  std::string_view type;    // and type; it need not be a peer any more.
  std::string_view tag;
  EventTicket ticket = 0;
};

struct EventFiring {
  EventId event = 0;
  std::vector<EventTicket> tickets;  // The oldest first, each once.
  bool is_partial = false;           // Its time bound had passed.

  bool operator==(const EventFiring&) const = default;
};

// A ticket that an event gave up without firing.
struct EventDrop {
  EventId event = 0;
  EventTicket ticket = 0;

  bool operator==(const EventDrop&) const = default;
};

struct EventOutcome {
  // First those whose time bound had passed, by deadline, then the others; in
  // both, of two the one that was added first.
  std::vector<EventFiring> firings;
  // The unit was full: its oldest message had to go.
  std::vector<EventDrop> dropped;
  // How many events took the ticket that was pushed; 0: nobody waits for such a
  // message. Each of them gives it back once: in a firing, dropped here, or from
  // remove() or clear().
  std::size_t holders = 0;
};

class EventTable {
 public:
  explicit EventTable(EventOptions options = {});

  // Code::invalid, with where and why, for a condition that carries an error or
  // needs more than a unit keeps.
  Result<EventId> add(const EventCondition& condition);
  // Gives back what waited for the event. Code::not_found if there is none.
  Result<std::vector<EventTicket>> remove(EventId event);
  // Removes all events and gives back what waited, in order; peers stay.
  std::vector<EventDrop> clear();

  // Each of these does first what advance() does. A `now` that lies before an
  // earlier one counts as that.
  EventOutcome push(const EventArrival& arrival, TimePoint now);
  // A peer is there, also one that is back; told again, nothing changes.
  EventOutcome joined(std::string_view name, std::string_view type, TimePoint now);
  // A peer has left or is lost. Its messages still count.
  EventOutcome left(std::string_view name, TimePoint now);
  // Fires what is due by `now`.
  EventOutcome advance(TimePoint now);

  // When advance() has something to do; kForever if never.
  TimePoint next_deadline() const;

  std::size_t size() const { return events_.size(); }
  // Messages that wait for `event`; 0 if there is no such event.
  std::size_t waiting(EventId event) const;
  // Live peers, as told.
  std::size_t peers() const { return sources_.peers(); }

 private:
  struct Event {
    explicit Event(const EventCondition& condition) : entry(condition) {}
    EventEntry entry;
    std::vector<EventSources::Id> sources;  // One for each unit.
    TimePoint deadline = kForever;          // As it stands in deadlines_.
  };

  Status check(const EventCondition& condition) const;
  void enter(EventId id, Event& event);
  void withdraw(EventId id, Event& event);
  void begin(TimePoint now, EventOutcome& outcome);
  void deliver(std::span<const EventUnitRef> units, const EventArrival& arrival,
               EventOutcome& outcome);
  void fire(EventId id, Event& event, EventOutcome& outcome);
  void fire_changed(EventOutcome& outcome);
  void set_deadline(EventId id, Event& event, TimePoint deadline);

  EventOptions options_;
  TimePoint now_ = TimePoint::min();
  EventId last_id_ = 0;
  std::unordered_map<EventId, Event> events_;
  EventSources sources_;
  EventRoutes routes_;
  // Units whose need follows the number of peers.
  std::unordered_map<EventSources::Id, std::vector<EventUnitRef>> percentages_;
  std::set<std::pair<TimePoint, EventId>> deadlines_;
  // Kept between calls, so that they cost no allocation.
  std::vector<EventSources::Id> found_sources_;
  std::vector<EventUnitRef> found_units_;
  std::vector<std::uint32_t> unit_numbers_;
  std::vector<EventTicket> tickets_;
};

}  // namespace muster::msg
