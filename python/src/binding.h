// The binding library with the conversions that are used: in all files the same,
// or a template would mean one thing here and another there.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace muster::python {

namespace nb = nanobind;

}  // namespace muster::python
