// Reads an event condition from one text; the grammar is docs/reference/events.md.

#pragma once

#include <string_view>

#include "muster/msg/event_condition.h"

namespace muster::msg {

// Code::invalid says which character is wrong, why, and shows it.
Result<EventCondition> parse_event(std::string_view text);

}  // namespace muster::msg
