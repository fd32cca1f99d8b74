// Objects of Python's that should be ours, looked at before they are touched. For where no
// signature of nanobind's does so.

#pragma once

#include <string>

#include "binding.h"

namespace muster::python {

[[noreturn]] inline void raise_type_error(const std::string& why) {
  PyErr_SetString(PyExc_TypeError, why.c_str());
  throw nb::python_error();
}

// Raises TypeError unless `object` is a T that was made: a subclass may have forgotten to.
template <class T>
T& instance_of(nb::handle object, const std::string& what) {
  if (!nb::isinstance<T>(object)) {
    raise_type_error(what + " is wanted here, not a " + Py_TYPE(object.ptr())->tp_name);
  }
  if (!nb::inst_ready(object)) {
    raise_type_error(what +
                     " that was never made: the __init__ of a class derived from it must "
                     "call super().__init__()");
  }
  return *nb::inst_ptr<T>(object);
}

}  // namespace muster::python
