// For what is done for each of a mass of messages: the short ways, past nanobind's searching.

#pragma once

#include <exception>
#include <new>
#include <utility>

#include "binding.h"
#include "interpreter.h"

namespace muster::python {

// For functions that Python calls itself: what is thrown becomes Python's error. `work` gives a
// new reference, or null: with an error of Python's set, or at the end of an
// iteration.
template <class Work>
PyObject* guarded(Work work) noexcept {
  try {
    return work();
  } catch (nb::python_error& raised) {
    raised.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    stay_for_good();  // No exception: Python ends the thread.
  }
  return nullptr;
}

// As nb::cast() makes it of a T that is bound already.
template <class T>
nb::object make_instance(T value) {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(nb::type<T>().ptr());
  nb::object made = nb::inst_alloc(type);
  new (nb::inst_ptr<T>(made)) T(std::move(value));
  nb::inst_mark_ready(made);
  return made;
}

}  // namespace muster::python
