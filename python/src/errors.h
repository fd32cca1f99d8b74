// Errors of the library as Python exceptions, and back.

#pragma once

#include <string_view>
#include <utility>

#include "binding.h"
#include "interpreter.h"
#include "muster/base/result.h"

namespace muster::python {

// Raises what a signal's handler has raised meanwhile, else what muster/errors.py has for the code.
[[noreturn]] void raise(const Error& error);

// What a call gave; a signal that came in the same moment goes first.
template <class T>
T unwrap(Result<T> result) {
  if (!result) raise(result.error());
  raise_signal();
  return *std::move(result);
}
inline void unwrap_ok(const Status& status) {
  if (!status) raise(status.error());
  raise_signal();
}

// What a handler raised: its own error, or Code::failed with the traceback.
Error to_error(const nanobind::python_error& raised);

// A warning in the log of the Python program, under the name "muster".
void log_warning(std::string_view text);

void bind_errors(nanobind::module_& module);

}  // namespace muster::python
