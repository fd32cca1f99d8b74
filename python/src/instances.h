// Objects of Python's that should be ours, looked at before they are touched. For where no
// signature of nanobind's does so.

#pragma once

#include "binding.h"

namespace muster::python {

// Raises TypeError unless `object` is a T that was made: a subclass may have forgotten to.
template <class T>
T& instance_of(nb::handle object, const char* what) {
  if (!nb::isinstance<T>(object)) {
    PyErr_Format(PyExc_TypeError, "%s is wanted here, not an object of %R", what,
                 Py_TYPE(object.ptr()));
    throw nb::python_error();
  }
  if (!nb::inst_ready(object)) {
    PyErr_Format(PyExc_TypeError,
                 "%s that was never made: the __init__ of %R must call super().__init__()", what,
                 Py_TYPE(object.ptr()));
    throw nb::python_error();
  }
  return *nb::inst_ptr<T>(object);
}

}  // namespace muster::python
