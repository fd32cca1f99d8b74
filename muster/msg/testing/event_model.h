// EventModel: what EventTable should do, done slowly and without cleverness.
// Each event keeps a plain list of messages and looks at all of it each time.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "muster/msg/event_table.h"

namespace muster::msg {

class EventModel {
 public:
  explicit EventModel(std::size_t limit) : limit_(limit) {}

  EventId add(const EventCondition& condition) {
    Event event{condition, {}, {}};
    list_units(condition, event.units);
    events_.emplace(++last_id_, std::move(event));
    return last_id_;
  }

  std::optional<std::vector<EventTicket>> remove(EventId id) {
    if (!events_.contains(id)) return std::nullopt;
    const std::vector<EventTicket> tickets = tickets_of(events_.at(id));
    events_.erase(id);
    return tickets;
  }

  std::vector<EventDrop> clear() {
    std::vector<EventDrop> dropped;
    for (const auto& [id, event] : events_) {
      for (const EventTicket ticket : tickets_of(event)) dropped.push_back({id, ticket});
    }
    events_.clear();
    return dropped;
  }

  EventOutcome push(const EventArrival& arrival, TimePoint now) {
    EventOutcome outcome = advance(now);
    for (auto& [id, event] : events_) {
      Message message{arrival.ticket, std::string(arrival.source), now, {}};
      for (std::size_t unit = 0; unit < event.units.size(); ++unit) {
        const bool takes = matches(event.units[unit].source, arrival.source, arrival.type) &&
                           (event.units[unit].tag == "*" || event.units[unit].tag == arrival.tag);
        if (takes) message.units.insert(unit);
      }
      if (message.units.empty()) continue;
      ++outcome.holders;
      event.messages.push_back(message);
      fire(id, event, outcome);
      for (const std::size_t unit : message.units) trim(id, event, unit, outcome);
    }
    return outcome;
  }

  EventOutcome joined(const std::string& name, const std::string& type, TimePoint now) {
    EventOutcome outcome = advance(now);
    peers_[name] = type;
    for (auto& [id, event] : events_) fire(id, event, outcome);
    return outcome;
  }

  EventOutcome left(const std::string& name, TimePoint now) {
    EventOutcome outcome = advance(now);
    peers_.erase(name);
    for (auto& [id, event] : events_) fire(id, event, outcome);
    return outcome;
  }

  EventOutcome advance(TimePoint now) {
    EventOutcome outcome;
    while (next_deadline() <= now) {
      const auto due = std::ranges::min_element(
          events_, {}, [&](const auto& entry) { return deadline(entry.second); });
      std::set<std::size_t> every_unit;
      for (std::size_t i = 0; i < due->second.units.size(); ++i) every_unit.insert(i);
      outcome.firings.push_back({due->first, take(due->second, every_unit), true});
    }
    return outcome;
  }

  TimePoint next_deadline() const {
    TimePoint next = kForever;
    for (const auto& [id, event] : events_) next = std::min(next, deadline(event));
    return next;
  }

  std::size_t waiting(EventId id) const {
    return events_.contains(id) ? events_.at(id).messages.size() : 0;
  }
  EventId last_id() const { return last_id_; }

 private:
  struct Message {
    EventTicket ticket;
    std::string sender;
    TimePoint at;
    std::set<std::size_t> units;
  };
  struct Event {
    EventCondition condition;
    std::vector<EventUnit> units;
    std::vector<Message> messages;  // The oldest first.
  };

  static void list_units(const EventCondition& condition, std::vector<EventUnit>& units) {
    if (condition.kind() == EventCondition::Kind::unit) units.push_back(condition.unit());
    for (const EventCondition& part : condition.parts()) list_units(part, units);
  }

  static std::vector<EventTicket> tickets_of(const Event& event) {
    std::vector<EventTicket> tickets;
    for (const Message& message : event.messages) tickets.push_back(message.ticket);
    return tickets;
  }

  static bool matches(std::string_view source, std::string_view name, std::string_view type) {
    if (source.back() == '*') {
      source.remove_suffix(1);
      return name.substr(0, source.size()) == source;
    }
    return source == name || source == type;
  }

  std::size_t need(const EventUnit& unit) const {
    if (!unit.amount.is_percentage) return unit.amount.number;
    std::size_t live = 0;
    for (const auto& [name, type] : peers_) live += matches(unit.source, name, type) ? 1 : 0;
    return std::max<std::size_t>(1, live * unit.amount.number / 100);
  }

  // The messages that count for a unit: all, or the oldest of each sender.
  static std::vector<EventTicket> counted(const Event& event, std::size_t unit) {
    std::vector<EventTicket> tickets;
    std::set<std::string> senders;
    for (const Message& message : event.messages) {
      if (!message.units.contains(unit)) continue;
      const bool is_new = senders.insert(message.sender).second;
      if (is_new || !event.units[unit].is_distinct) tickets.push_back(message.ticket);
    }
    return tickets;
  }

  // Which units make `condition` true; `unit` is the number of its first one
  // and, after the call, of the one that follows its last.
  std::optional<std::set<std::size_t>> met(const Event& event, const EventCondition& condition,
                                           std::size_t& unit) const {
    if (condition.kind() == EventCondition::Kind::unit) {
      const std::size_t mine = unit++;
      if (counted(event, mine).size() < need(event.units[mine])) return std::nullopt;
      return std::set<std::size_t>{mine};
    }
    std::vector<std::set<std::size_t>> met_parts;
    for (const EventCondition& part : condition.parts()) {
      if (const auto chosen = met(event, part, unit)) met_parts.push_back(*chosen);
    }
    if (condition.kind() == EventCondition::Kind::any) {
      return met_parts.empty() ? std::nullopt : std::optional(met_parts.front());
    }
    if (met_parts.size() < condition.parts().size()) return std::nullopt;
    std::set<std::size_t> all;
    for (const auto& part : met_parts) all.insert(part.begin(), part.end());
    return all;
  }

  std::vector<EventTicket> take(Event& event, const std::set<std::size_t>& units) const {
    std::set<EventTicket> taken;
    for (const std::size_t unit : units) {
      std::vector<EventTicket> tickets = counted(event, unit);
      tickets.resize(std::min(tickets.size(), need(event.units[unit])));
      taken.insert(tickets.begin(), tickets.end());
    }
    std::erase_if(event.messages, [&](const Message& m) { return taken.contains(m.ticket); });
    return {taken.begin(), taken.end()};  // Tickets count up.
  }

  void fire(EventId id, Event& event, EventOutcome& outcome) const {
    for (;;) {
      std::size_t first = 0;
      const auto units = met(event, event.condition, first);
      if (!units) return;
      outcome.firings.push_back({id, take(event, *units), false});
    }
  }

  void trim(EventId id, Event& event, std::size_t unit, EventOutcome& outcome) const {
    const std::size_t limit = std::max(limit_, need(event.units[unit]));
    for (;;) {
      std::vector<Message*> in_unit;
      std::map<std::string, int> by_sender;
      for (Message& message : event.messages) {
        if (!message.units.contains(unit)) continue;
        in_unit.push_back(&message);
        ++by_sender[message.sender];
      }
      if (in_unit.size() <= limit) return;
      Message* victim = in_unit.front();
      if (event.units[unit].is_distinct) {
        const auto busy = std::ranges::find_if(
            in_unit, [&](const Message* message) { return by_sender[message->sender] > 1; });
        if (busy != in_unit.end()) victim = *busy;
      }
      victim->units.erase(unit);
      if (!victim->units.empty()) continue;
      outcome.dropped.push_back({id, victim->ticket});
      event.messages.erase(event.messages.begin() + (victim - event.messages.data()));
    }
  }

  static TimePoint deadline(const Event& event) {
    if (!event.condition.bound() || event.messages.empty()) return kForever;
    return event.messages.front().at + *event.condition.bound();
  }

  std::size_t limit_;
  EventId last_id_ = 0;
  std::map<EventId, Event> events_;
  std::map<std::string, std::string> peers_;
};

}  // namespace muster::msg
