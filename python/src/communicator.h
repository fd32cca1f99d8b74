// Collectives on arrays: Communicator.

#pragma once

#include "binding.h"

namespace muster::python {

void bind_communicator(nb::module_& module);

}  // namespace muster::python
