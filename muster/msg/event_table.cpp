#include "muster/msg/event_table.h"

#include <algorithm>
#include <string>

#include "muster/msg/event_text.h"

namespace muster::msg {

EventTable::EventTable(EventOptions options) : options_(options) {
  options_.waiting_limit = std::max<std::size_t>(1, options_.waiting_limit);
}

Result<EventId> EventTable::add(const EventCondition& condition) {
  MUSTER_TRY_OK(check(condition));
  const EventId id = ++last_id_;
  enter(id, events_.try_emplace(id, condition).first->second);
  return id;
}

Status EventTable::check(const EventCondition& condition) const {
  if (const Error* error = condition.error()) return *error;
  if (condition.kind() != EventCondition::Kind::unit) {
    for (const EventCondition& part : condition.parts()) MUSTER_TRY_OK(check(part));
    return ok();
  }
  const EventUnit& unit = condition.unit();
  if (unit.amount.is_percentage || unit.amount.number <= options_.waiting_limit) return ok();
  const std::string text = unit.to_string();
  return event_error(text, text.rfind(':') + 1,
                     "more than the " + std::to_string(options_.waiting_limit) +
                         " messages that a unit keeps; raise waiting_limit");
}

void EventTable::enter(EventId id, Event& event) {
  const std::vector<EventUnit>& units = event.entry.units();
  for (std::uint32_t i = 0; i < units.size(); ++i) {
    const EventSources::Id source = sources_.hold(units[i].source);
    event.sources.push_back(source);
    event.entry.set_peers(i, sources_.live(source));
    routes_.add(units[i].tag, source, {id, i});
    if (units[i].amount.is_percentage) percentages_[source].push_back({id, i});
  }
}

void EventTable::withdraw(EventId id, Event& event) {
  const std::vector<EventUnit>& units = event.entry.units();
  for (std::uint32_t i = 0; i < units.size(); ++i) {
    const EventSources::Id source = event.sources[i];
    routes_.remove(units[i].tag, source, {id, i});
    if (units[i].amount.is_percentage) {
      const auto entry = percentages_.find(source);
      std::erase(entry->second, EventUnitRef{id, i});
      if (entry->second.empty()) percentages_.erase(entry);
    }
    sources_.release(source);
  }
  set_deadline(id, event, kForever);
}

Result<std::vector<EventTicket>> EventTable::remove(EventId id) {
  const auto found = events_.find(id);
  if (found == events_.end()) {
    return Error(Code::not_found, "remove an event: there is none with id " + std::to_string(id));
  }
  withdraw(id, found->second);
  std::vector<EventTicket> tickets = found->second.entry.take_all();
  events_.erase(found);
  return tickets;
}

std::vector<EventDrop> EventTable::clear() {
  std::vector<EventId> ids;
  for (const auto& [id, event] : events_) ids.push_back(id);
  std::ranges::sort(ids);
  std::vector<EventDrop> dropped;
  for (const EventId id : ids) {
    const std::vector<EventTicket> tickets = *remove(id);
    for (const EventTicket ticket : tickets) dropped.push_back({id, ticket});
  }
  return dropped;
}

EventOutcome EventTable::push(const EventArrival& arrival, TimePoint now) {
  EventOutcome outcome;
  begin(now, outcome);
  found_units_.clear();
  const auto sources = [&]() -> const std::vector<EventSources::Id>& {
    found_sources_.clear();
    sources_.match(arrival.source, arrival.type, found_sources_);
    return found_sources_;
  };
  routes_.find(arrival.tag, sources, found_units_);
  std::ranges::sort(found_units_);
  for (auto first = found_units_.begin(); first != found_units_.end();) {
    const auto last = std::ranges::find_if(
        first, found_units_.end(), [&](const auto& ref) { return ref.event != first->event; });
    deliver({first, last}, arrival, outcome);
    first = last;
  }
  return outcome;
}

// `units` are all those of one event that the message matches.
void EventTable::deliver(std::span<const EventUnitRef> units, const EventArrival& arrival,
                         EventOutcome& outcome) {
  const EventId id = units.front().event;
  Event& event = events_.at(id);
  unit_numbers_.clear();
  for (const EventUnitRef& ref : units) unit_numbers_.push_back(ref.unit);
  event.entry.add(arrival.ticket, arrival.source, now_, unit_numbers_);
  ++outcome.holders;
  fire(id, event, outcome);
  // Only now: what fires makes room.
  tickets_.clear();
  for (const std::uint32_t unit : unit_numbers_) {
    event.entry.trim(unit, options_.waiting_limit, tickets_);
  }
  for (const EventTicket ticket : tickets_) outcome.dropped.push_back({id, ticket});
  set_deadline(id, event, event.entry.deadline());
}

void EventTable::fire(EventId id, Event& event, EventOutcome& outcome) {
  while (auto tickets = event.entry.fire()) {
    outcome.firings.push_back({id, std::move(*tickets), false});
  }
}

EventOutcome EventTable::joined(std::string_view name, std::string_view type, TimePoint now) {
  EventOutcome outcome;
  begin(now, outcome);
  found_sources_.clear();
  sources_.joined(name, type, found_sources_);
  fire_changed(outcome);
  return outcome;
}

EventOutcome EventTable::left(std::string_view name, TimePoint now) {
  EventOutcome outcome;
  begin(now, outcome);
  found_sources_.clear();
  sources_.left(name, found_sources_);
  fire_changed(outcome);
  return outcome;
}

// The sources in found_sources_ match another number of peers than before.
void EventTable::fire_changed(EventOutcome& outcome) {
  found_units_.clear();
  for (const EventSources::Id source : found_sources_) {
    const auto units = percentages_.find(source);
    if (units == percentages_.end()) continue;
    for (const EventUnitRef& ref : units->second) {
      events_.at(ref.event).entry.set_peers(ref.unit, sources_.live(source));
      found_units_.push_back(ref);
    }
  }
  // All needs stand before the first event fires.
  std::ranges::sort(found_units_);
  for (const EventUnitRef& ref : found_units_) {
    Event& event = events_.at(ref.event);
    fire(ref.event, event, outcome);
    set_deadline(ref.event, event, event.entry.deadline());
  }
}

EventOutcome EventTable::advance(TimePoint now) {
  EventOutcome outcome;
  begin(now, outcome);
  return outcome;
}

void EventTable::begin(TimePoint now, EventOutcome& outcome) {
  now_ = std::max(now_, now);
  while (next_deadline() <= now_ && !deadlines_.empty()) {
    const EventId id = deadlines_.begin()->second;
    Event& event = events_.at(id);
    outcome.firings.push_back({id, event.entry.fire_partially(), true});
    set_deadline(id, event, event.entry.deadline());
  }
}

TimePoint EventTable::next_deadline() const {
  return deadlines_.empty() ? kForever : deadlines_.begin()->first;
}

void EventTable::set_deadline(EventId id, Event& event, TimePoint deadline) {
  if (deadline == event.deadline) return;
  if (event.deadline != kForever) deadlines_.erase({event.deadline, id});
  if (deadline != kForever) deadlines_.emplace(deadline, id);
  event.deadline = deadline;
}

std::size_t EventTable::waiting(EventId id) const {
  const auto found = events_.find(id);
  return found == events_.end() ? 0 : found->second.entry.waiting();
}

}  // namespace muster::msg
