#include "muster/msg/event_tuple.h"

#include "muster/msg/event_text.h"

namespace muster::msg {

EventCondition join_event(std::vector<EventCondition> parts, std::string_view word) {
  if (word == "AND" || word == "and" || word == "&&") return all_of(std::move(parts));
  if (word == "OR" || word == "or" || word == "||") return any_of(std::move(parts));
  return EventCondition::refused(
      event_error(word, 0, "the last item of a tuple is its operator: AND, OR, && or ||"));
}

}  // namespace muster::msg
