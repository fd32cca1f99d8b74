// Conditions of events as Python says them.

#pragma once

#include "binding.h"
#include "muster/msg/event_condition.h"

namespace muster::python {

// A text, an EventCondition, or a tuple of such with the operator last.
msg::EventCondition to_condition(nanobind::handle said);

void bind_events(nanobind::module_& module);

}  // namespace muster::python
