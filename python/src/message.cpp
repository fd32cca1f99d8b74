#include "message.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collected.h"
#include "errors.h"
#include "quick.h"

namespace muster::python {
namespace {

constexpr std::size_t kWords = 6;
std::array<std::array<PyObject*, 8>, kWords> words{};

nb::object text(std::string_view view) { return nb::str(view.data(), view.size()); }

Id parse_id(std::string_view digits) {
  constexpr int kHex = 16;
  Id id;
  const char* middle = digits.data() + kHex;
  if (digits.size() == 2 * kHex) {
    const auto high = std::from_chars(digits.data(), middle, id.high, kHex);
    const auto low = std::from_chars(middle, middle + kHex, id.low, kHex);
    if (high.ptr == middle && low.ptr == middle + kHex) return id;
  }
  raise(Error(Code::invalid, "an id has 32 hexadecimal digits: " + std::string(digits)));
}

std::string_view utf8(nb::handle string) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

void make_message(PyMessage* self, nb::handle tag, std::string destination, nb::object body,
                  std::string source, nb::handle session_type, nb::handle session_id,
                  nb::handle priority) {
  msg::MessageFields fields;
  fields.tag = to_tag(tag);
  fields.source = std::move(source);
  fields.destination = std::move(destination);
  fields.session_type =
      static_cast<msg::SessionType>(number_of(Word::session_type, session_type, 1));
  if (!session_id.is_none()) fields.session_id = to_id(session_id);
  fields.priority = static_cast<msg::Priority>(number_of(Word::priority, priority, 1));
  new (self) PyMessage{msg::Message(std::move(fields)), std::move(body)};
}

nb::object describe(const PyMessage& self) {
  return nb::str("Message({!r} from {!r} to {!r}, {})")
      .attr("format")(text(self.message.tag()), text(self.message.source()),
                      text(self.message.destination()), text(name(self.message.stage())));
}

// The one attribute that every message is asked for.
PyObject* get_body(PyObject* self, void*) {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_AttributeError, "this message was never made");
    return nullptr;
  }
  return nb::object(nb::inst_ptr<PyMessage>(self)->body).release().ptr();
}

PyGetSetDef message_attributes[] = {
    {"body", get_body, nullptr,
     "What it says: a plain value, an array, or such in lists and dicts.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
const PyType_Slot kMessageSlots[] = {{Py_tp_getset, static_cast<void*>(message_attributes)},
                                     {Py_tp_traverse, reinterpret_cast<void*>(traverse<PyMessage>)},
                                     {Py_tp_clear, reinterpret_cast<void*>(let_go<PyMessage>)},
                                     {0, nullptr}};

std::size_t size_of(const msg::EncodedBody* body) {
  std::size_t size = 0;
  if (body == nullptr) return size;
  for (const Buffer& part : body->parts) size += part.size();
  return size;
}

}  // namespace

nb::object word(Word which, std::size_t number) {
  PyObject* member = words.at(static_cast<std::size_t>(which)).at(number);
  return member != nullptr ? nb::borrow(member) : nb::int_(number);
}

std::size_t number_of(Word which, nb::handle member, std::size_t otherwise) {
  if (member.is_none()) return otherwise;
  static constexpr std::array<const char*, kWords> kNames = {
      "SessionType", "Stage", "Priority", "OnLoss", "Answers", "Compression"};
  const char* const name = kNames.at(static_cast<std::size_t>(which));
  if (!PyLong_Check(member.ptr())) {
    PyErr_Format(PyExc_TypeError, "a muster.%s is wanted here, not %R", name, member.ptr());
    throw nb::python_error();
  }
  const auto& members = words.at(static_cast<std::size_t>(which));
  const std::size_t number = PyLong_AsSize_t(member.ptr());
  if (number < members.size() && members.at(number) != nullptr) return number;
  PyErr_Clear();
  raise(Error(Code::invalid, std::string("there is no such muster.") + name + ": " +
                                 nb::cast<std::string>(nb::repr(member))));
}

msg::Tag to_tag(nb::handle tag) {
  if (PyUnicode_Check(tag.ptr())) return utf8(tag);
  if (nb::hasattr(tag, "value")) {
    const nb::object value = tag.attr("value");
    if (PyUnicode_Check(value.ptr())) return utf8(value);
    const nb::object name = tag.attr("name");
    return utf8(name);
  }
  raise(Error(Code::invalid, "a tag is a str, or a member of an Enum"));
}

msg::SessionId to_id(nb::handle id) {
  if (nb::isinstance<Id>(id)) return nb::cast<Id>(id);
  if (PyUnicode_Check(id.ptr())) return parse_id(utf8(id));
  if (nb::isinstance<PyMessage>(id)) return nb::cast<PyMessage&>(id).message.session_id();
  raise(Error(Code::invalid, "a session is named by its id, or by a message of it"));
}

Result<nb::object> to_python(const ProxyHandle& handle, msg::Message message) {
  nb::object body = nb::none();
  if (message.encoded() != nullptr) {
    MUSTER_TRY(body, decode(*message.encoded(), handle.decoding));
  }
  return make_instance(PyMessage{std::move(message), std::move(body)});
}

void bind_message(nb::module_& module) {
  module.def("set_words", [](std::size_t which, std::size_t number, nb::object member) {
    words.at(which).at(number) = member.release().ptr();
  });

  nb::class_<Id>(module, "Id", nb::pooled(), "What tells a session or a message from all others.")
      .def(
          "__init__", [](Id* self, const std::string& digits) { new (self) Id(parse_id(digits)); },
          nb::arg("text"))
      .def("__str__", &Id::to_string)
      .def("__repr__", [](const Id& self) { return "Id('" + self.to_string() + "')"; })
      .def("__hash__", [](const Id& self) { return std::hash<Id>()(self); })
      .def("__eq__",
           [](const Id& self, nb::handle other) {
             return nb::isinstance<Id>(other) && nb::cast<Id&>(other) == self;
           })
      .def("__bool__", [](const Id& self) { return static_cast<bool>(self); })
      .def("__getstate__", &Id::to_string)
      .def("__setstate__",
           [](Id& self, const std::string& digits) { new (&self) Id(parse_id(digits)); });

  nb::class_<PyMessage>(module, "Message", nb::pooled(), nb::type_slots(kMessageSlots),
                        R"(What one component said to another.

One that was made by hand can be sent; what it says never changes.

>>> import muster
>>> message = muster.Message("sum", "worker_1", [1, 2, 3], source="master")
>>> message.tag, message.destination, message.body
('sum', 'worker_1', [1, 2, 3])
>>> message.session_type.name
'TASK'
)")
      .def("__init__", make_message, nb::arg("tag"), nb::arg("destination") = "",
           nb::arg("body") = nb::none(), nb::kw_only(), nb::arg("source") = "",
           nb::arg("session_type") = nb::none(), nb::arg("session_id") = nb::none(),
           nb::arg("priority") = nb::none())
      .def_prop_ro("tag", [](const PyMessage& self) { return text(self.message.tag()); })
      .def_prop_ro("source", [](const PyMessage& self) { return text(self.message.source()); })
      .def_prop_ro("destination",
                   [](const PyMessage& self) { return text(self.message.destination()); })
      .def_prop_ro("session_type",
                   [](const PyMessage& self) {
                     return word(Word::session_type,
                                 static_cast<std::size_t>(self.message.session_type()));
                   })
      .def_prop_ro("stage",
                   [](const PyMessage& self) {
                     return word(Word::stage, static_cast<std::size_t>(self.message.stage()));
                   })
      .def_prop_ro("priority",
                   [](const PyMessage& self) {
                     return word(Word::priority, static_cast<std::size_t>(self.message.priority()));
                   })
      .def_prop_ro("session_id", [](const PyMessage& self) { return self.message.session_id(); })
      .def_prop_ro("message_id", [](const PyMessage& self) { return self.message.message_id(); })
      .def_prop_ro("is_request", [](const PyMessage& self) { return self.message.is_request(); })
      .def_prop_ro("is_answered", [](const PyMessage& self) { return self.message.is_answered(); })
      .def_prop_ro("is_redelivered",
                   [](const PyMessage& self) { return self.message.is_redelivered(); })
      .def_prop_ro("is_failure", [](const PyMessage& self) { return self.message.is_failure(); })
      .def_prop_ro("nbytes", [](const PyMessage& self) { return size_of(self.message.encoded()); })
      .def("raise_failure",
           [](const PyMessage& self) {
             if (self.message.is_failure()) raise(self.message.failure());
           })
      .def("__repr__", describe);
}

}  // namespace muster::python
