#include "muster/msg/event_entry.h"

#include <algorithm>

namespace muster::msg {
namespace {

void list_distinct(const EventCondition& condition, std::vector<bool>& is_distinct) {
  if (condition.kind() == EventCondition::Kind::unit) {
    is_distinct.push_back(condition.unit().is_distinct);
  }
  for (const EventCondition& part : condition.parts()) list_distinct(part, is_distinct);
}

std::vector<bool> distinct_units(const EventCondition& condition) {
  std::vector<bool> is_distinct;
  list_distinct(condition, is_distinct);
  return is_distinct;
}

}  // namespace

EventEntry::EventEntry(const EventCondition& condition)
    : bound_(condition.bound()), waiting_(distinct_units(condition)) {
  compile(condition);
  needs_.resize(units_.size());
  for (std::uint32_t unit = 0; unit < units_.size(); ++unit) set_peers(unit, 0);
}

void EventEntry::compile(const EventCondition& condition) {
  const std::size_t step = steps_.size();
  steps_.push_back({condition.kind(), static_cast<std::uint32_t>(units_.size()), 0});
  if (condition.kind() == EventCondition::Kind::unit) units_.push_back(condition.unit());
  for (const EventCondition& part : condition.parts()) compile(part);
  steps_[step].end = steps_.size();
}

void EventEntry::set_peers(std::uint32_t unit, std::size_t peers) {
  const EventAmount amount = units_[unit].amount;
  needs_[unit] =
      amount.is_percentage ? std::max<std::size_t>(1, peers * amount.number / 100) : amount.number;
}

std::optional<std::vector<EventTicket>> EventEntry::fire() {
  chosen_.clear();
  if (!choose(0)) return std::nullopt;
  for (const std::uint32_t unit : chosen_) waiting_.pick(unit, needs_[unit]);
  return waiting_.take();
}

std::vector<EventTicket> EventEntry::fire_partially() {
  for (std::uint32_t unit = 0; unit < units_.size(); ++unit) waiting_.pick(unit, needs_[unit]);
  return waiting_.take();
}

bool EventEntry::choose(std::size_t number) {
  const Step& step = steps_[number];
  if (step.kind == EventCondition::Kind::unit) {
    if (is_met(step.unit)) chosen_.push_back(step.unit);
    return is_met(step.unit);
  }
  const bool is_all = step.kind == EventCondition::Kind::all;
  const std::size_t before = chosen_.size();
  for (std::size_t part = number + 1; part < step.end; part = steps_[part].end) {
    const bool part_is_met = choose(part);
    if (part_is_met && !is_all) return true;
    if (!part_is_met && is_all) {
      chosen_.resize(before);
      return false;
    }
  }
  return is_all;
}

void EventEntry::trim(std::uint32_t unit, std::size_t limit, std::vector<EventTicket>& dropped) {
  // Never below the need: the event could not fire any more.
  limit = std::max(limit, needs_[unit]);
  while (waiting_.size(unit) > limit) {
    if (const auto ticket = waiting_.drop_oldest(unit)) dropped.push_back(*ticket);
  }
}

TimePoint EventEntry::deadline() const {
  if (!bound_) return kForever;
  const TimePoint oldest = waiting_.oldest();
  return oldest > kForever - *bound_ ? kForever : oldest + *bound_;
}

}  // namespace muster::msg
