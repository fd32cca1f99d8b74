// Errors of the library as Python exceptions, and back.

#pragma once

#include <string_view>
#include <utility>

#include "binding.h"
#include "muster/base/result.h"

namespace muster::python {

// Raises what muster/errors.py has for the code, or what a signal handler raised.
[[noreturn]] void raise(const Error& error);

template <class T>
T unwrap(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}
inline void unwrap_ok(const Status& status) {
  if (!status) raise(status.error());
}

// What a handler raised: its own error, or Code::failed with the traceback.
Error to_error(const nanobind::python_error& raised);

// A warning in the log of the Python program, under the name "muster".
void log_warning(std::string_view text);

void bind_errors(nanobind::module_& module);

}  // namespace muster::python
