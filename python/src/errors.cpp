#include "errors.h"

#include <array>
#include <string>

#include "interpreter.h"

namespace muster::python {
namespace {

constexpr std::size_t kCodes = static_cast<std::size_t>(Code::internal) + 1;
// By code; muster/errors.py enters them when it is imported.
std::array<PyObject*, kCodes> classes{};

nb::object make(const Error& error) {
  PyObject* type = classes.at(static_cast<std::size_t>(error.code()));
  if (type == nullptr) type = PyExc_RuntimeError;
  return call(type, nb::str(error.message().data(), error.message().size()));
}

// The code of one of our own exceptions; Code::failed of any other.
Code code_of(nb::handle exception) {
  for (std::size_t code = 1; code < kCodes; ++code) {
    if (classes[code] != nullptr && PyObject_IsInstance(exception.ptr(), classes[code]) == 1) {
      return static_cast<Code>(code);
    }
  }
  return Code::failed;
}

}  // namespace

void raise(const Error& error) {
  raise_signal();
  const nb::object exception = make(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

Error to_error(const nb::python_error& raised) {
  const nb::object exception = nb::borrow(raised.value());
  const Code code = code_of(exception);
  const nb::object text = call(nb::module_::import_("muster.errors").attr("_describe"), exception,
                               code == Code::failed);
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (utf8 == nullptr) throw nb::python_error();
  return {code, std::string(utf8, static_cast<std::size_t>(size))};
}

void log_warning(std::string_view text) {
  const nb::object log = call(nb::module_::import_("logging").attr("getLogger"), "muster");
  call(log.attr("warning"), "%s", nb::str(text.data(), text.size()));
}

void bind_errors(nb::module_& module) {
  module.def("set_error_class", [](unsigned code, nb::object type) {
    if (code == 0 || code >= kCodes) throw nb::value_error("there is no such code");
    classes.at(code) = type.release().ptr();
  });
}

}  // namespace muster::python
