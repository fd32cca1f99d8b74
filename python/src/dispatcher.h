// The dispatcher behind dist(): a proxy's messages, and who is called for them.

#pragma once

#include "binding.h"

namespace muster::python {

void bind_dispatcher(nanobind::module_& module);

}  // namespace muster::python
