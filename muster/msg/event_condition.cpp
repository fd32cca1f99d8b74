#include "muster/msg/event_condition.h"

#include <algorithm>

#include "muster/msg/event_parser.h"
#include "muster/msg/event_text.h"

namespace muster::msg {
namespace {

std::string_view word_of(EventCondition::Kind kind) {
  return kind == EventCondition::Kind::all ? " && " : " || ";
}

}  // namespace

std::string EventUnit::to_string() const {
  return quote_event_text(source) + ":" + quote_event_text(tag) + ":" +
         std::to_string(amount.number) + (amount.is_percentage ? "%" : "") +
         (is_distinct ? " distinct" : "");
}

EventCondition EventCondition::refused(Error error) {
  EventCondition condition;
  condition.error_ = std::move(error);
  return condition;
}

EventCondition EventCondition::read(std::string_view text) {
  Result<EventCondition> condition = parse_event(text);
  return condition ? *std::move(condition) : refused(std::move(condition).error());
}

// Through its text: there is one place that knows what a unit may be.
EventCondition::EventCondition(const EventUnit& unit) : EventCondition(unit.to_string()) {}

EventCondition EventCondition::group(Kind kind, std::vector<EventCondition> parts) {
  if (parts.empty()) return refused(event_error("", 0, "a group of no parts would need nothing"));
  for (EventCondition& part : parts) {
    if (part.error_) return std::move(part);
    if (part.bound_ && parts.size() > 1) {
      return refused(event_error(part.to_string(), part.to_text().size() + 1,
                                 "a time bound is for the whole event, not for a part of it"));
    }
  }
  EventCondition whole = assemble(kind, std::move(parts));
  const bool fits = whole.depth_ <= kMaxEventDepth && whole.unit_count_ <= kMaxEventUnits;
  // The reader says where it becomes too much.
  return fits ? whole : read(whole.to_text());
}

EventCondition EventCondition::assemble(Kind kind, std::vector<EventCondition> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  EventCondition whole;
  whole.kind_ = kind;
  whole.unit_count_ = 0;
  for (const EventCondition& part : parts) {
    whole.depth_ = std::max(whole.depth_, part.depth_ + 1);
    whole.unit_count_ += part.unit_count_;
  }
  whole.parts_ = std::move(parts);
  return whole;
}

EventCondition EventCondition::distinct() const {
  if (error_) return *this;
  if (kind_ != Kind::unit) {
    return refused(event_error(to_string(), 0, "distinct is for one unit, not for a group"));
  }
  EventCondition same = *this;
  same.unit_.is_distinct = true;
  return same;
}

EventCondition EventCondition::within(Duration bound) const {
  if (error_) return *this;
  EventCondition same = *this;
  same.bound_ = bound;
  if (bound % std::chrono::milliseconds(1) != Duration::zero()) {
    return refused(event_error(same.to_string(), same.to_text().size() + 1,
                               "a time bound is a whole number of milliseconds"));
  }
  // As with a unit: the reader knows which bounds there are.
  return read(same.to_string());
}

std::string EventCondition::to_text() const {
  if (kind_ == Kind::unit) return unit_.to_string();
  std::string text;
  for (const EventCondition& part : parts_) {
    if (!text.empty()) text += word_of(kind_);
    text += part.kind_ == Kind::unit ? part.to_text() : "(" + part.to_text() + ")";
  }
  return text;
}

std::string EventCondition::to_string() const {
  return bound_ ? to_text() + " within " + event_duration_text(*bound_) : to_text();
}

}  // namespace muster::msg
