// encode() and decode() for Python's own use: tests, and bodies kept in files.

#pragma once

#include "binding.h"

namespace muster::python {

void bind_codec(nanobind::module_& module);

}  // namespace muster::python
