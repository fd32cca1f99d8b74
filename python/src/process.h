// The process-wide runtime: the one global of the package. Made when the first
// proxy or the first array in the arena is, and anew in a forked child.

#pragma once

#include "binding.h"
#include "muster/runtime/runtime.h"

namespace muster::python {

// Needs the lock.
Runtime& runtime();

void bind_process(nanobind::module_& module);

}  // namespace muster::python
