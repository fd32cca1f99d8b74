// For classes whose objects hold others of Python's: its garbage collector sees through them, so
// that what refers to itself by way of C++ is not kept for good.

#pragma once

#include "binding.h"
#include "interpreter.h"

namespace muster::python {

// A callable that C++ keeps, and the object whose it is can show to the collector. All of it needs
// the interpreter's lock, but for the end.
class Callback {
 public:
  explicit Callback(nb::handle callable) : callable_(callable.inc_ref().ptr()) {}
  ~Callback() { bury(callable_); }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  // Null once it was let go.
  PyObject* get() const { return callable_; }
  void let_go() { Py_CLEAR(callable_); }

 private:
  PyObject* callable_;
};

// T::each_held(function) calls function(PyObject*) for each reference that it owns, null too, and
// stops at what is not 0. Those that others own besides must not be among them.
template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<T>(self)->each_held(
      [&](PyObject* held) { return held == nullptr ? 0 : visit(held, arg); });
}

// T::let_go() drops as many of them as it takes to break each circle.
template <class T>
int let_go(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->let_go();
  return 0;
}

template <class T>
inline const PyType_Slot kCollected[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse<T>)},
                                         {Py_tp_clear, reinterpret_cast<void*>(let_go<T>)},
                                         {0, nullptr}};

}  // namespace muster::python
