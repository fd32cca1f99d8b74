// Conversions only: nothing here waits, all of it needs the interpreter's lock.

#include "calls.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "encode.h"
#include "errors.h"
#include "freezing.h"
#include "interpreter.h"
#include "message.h"

namespace muster::python {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view wanted, nb::handle given) {
  raise(Error(Code::invalid, std::string(what) + " is " + std::string(wanted) + ", not a " +
                                 Py_TYPE(given.ptr())->tp_name));
}

std::string_view to_view(nb::handle text, std::string_view what) {
  Py_ssize_t size = 0;
  const char* data =
      PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (data != nullptr) return {data, static_cast<std::size_t>(size)};
  PyErr_Clear();
  if (PyUnicode_Check(text.ptr())) {
    raise(Error(Code::invalid, std::string(what) + " is no text that can be written as UTF-8"));
  }
  refuse(what, "a str", text);
}

// From a message that was made by hand, with what the call says besides.
msg::Draft from_message(const ProxyHandle& handle, const PyMessage& message,
                        const SendArguments& arguments, const Keeping& keeping) {
  const msg::Message& said = message.message;
  msg::Draft draft;
  draft.tag = said.tag();
  if (arguments.destination.is_valid()) {
    draft.destination =
        to_destination(arguments.destination.is_none() ? nb::cast(std::string(said.destination()))
                                                       : nb::borrow(arguments.destination));
  }
  draft.session_type = said.session_type();
  draft.priority = said.priority();
  // Its own id, so that who made it can ask for the answer.
  if (!said.peer()) draft.session_id = said.session_id();
  const nb::handle body = arguments.body.is_none() ? nb::handle(message.body) : arguments.body;
  draft.encoded = encode_for(handle, body, keeping, arguments.compression);
  return draft;
}

}  // namespace

std::pair<nb::object, nb::object> to_pair(nb::handle pair, std::string_view what) {
  const bool is_pair = PyTuple_Check(pair.ptr()) || PyList_Check(pair.ptr());
  if (!is_pair || PySequence_Size(pair.ptr()) != 2) refuse(what, "a pair", pair);
  return {pair[0], pair[1]};
}

namespace {

msg::Expected to_one_expected(nb::handle item) {
  if (PyUnicode_Check(item.ptr())) return {.name = to_text(item, "the name of an expected peer")};
  const auto [type, count] = to_pair(item, "an expected peer");
  return {.type = to_text(type, "the type of expected peers"),
          .count = to_count(count, "the number of expected peers")};
}

}  // namespace

msg::EncodedBody encode_for(const ProxyHandle& handle, nb::handle body, const Keeping& keeping,
                            nb::handle compression) {
  EncodeOptions options;
  options.keeping = keeping;
  options.dumps = handle.dumps;
  options.compression = static_cast<msg::Compression>(number_of(Word::compression, compression, 0));
  Freezing freezing;
  msg::EncodedBody encoded = encode(body, options);
  freezing.keep();
  return encoded;
}

msg::Draft make_draft(const ProxyHandle& handle, const SendArguments& arguments,
                      const Keeping& keeping) {
  Freezing freezing;
  msg::Draft draft;
  if (PyUnicode_CheckExact(arguments.tag.ptr()) || !nb::isinstance<PyMessage>(arguments.tag)) {
    draft.tag = to_tag(arguments.tag);
    if (arguments.destination.is_valid()) draft.destination = to_destination(arguments.destination);
    draft.encoded = encode_for(handle, arguments.body, keeping, arguments.compression);
  } else {
    draft = from_message(handle, nb::cast<PyMessage&>(arguments.tag), arguments, keeping);
  }
  if (!arguments.session_type.is_none()) {
    draft.session_type =
        static_cast<msg::SessionType>(number_of(Word::session_type, arguments.session_type, 1));
  }
  if (!arguments.priority.is_none()) {
    draft.priority = static_cast<msg::Priority>(number_of(Word::priority, arguments.priority, 1));
  }
  if (!arguments.on_loss.is_none()) {
    draft.on_loss = static_cast<msg::OnLoss>(number_of(Word::on_loss, arguments.on_loss, 0));
  }
  if (!arguments.session_id.is_none()) draft.session_id = to_id(arguments.session_id);
  if (arguments.answers.is_valid() && !arguments.answers.is_none()) {
    draft.answers = static_cast<msg::Answers>(number_of(Word::answers, arguments.answers, 0));
  }
  if (arguments.wants_receipt.is_valid())
    draft.wants_receipt = arguments.wants_receipt.ptr() == Py_True;
  freezing.keep();
  return draft;
}

std::string to_text(nb::handle text, std::string_view what) {
  return std::string(to_view(text, what));
}

Duration to_duration(nb::handle seconds, std::string_view what) {
  const double number = PyFloat_AsDouble(seconds.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(what, "a number of seconds", seconds);
  }
  constexpr double kLongest = 1e9;
  if (!(number >= 0)) raise(Error(Code::invalid, std::string(what) + " is 0 seconds or more"));
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(number, kLongest)));
}

std::uint64_t to_count(nb::handle count, std::string_view what) {
  const nb::object number = nb::steal(PyNumber_Index(count.ptr()));
  const std::uint64_t found =
      number.is_valid() ? PyLong_AsUnsignedLongLong(number.ptr()) : std::uint64_t{0};
  if (PyErr_Occurred() == nullptr) return found;
  PyErr_Clear();
  if (!number.is_valid()) refuse(what, "a whole number", count);
  raise(Error(Code::invalid, std::string(what) + " is 0 or more"));
}

std::optional<double> to_seconds(nb::handle timeout) {
  if (timeout.is_none()) return std::nullopt;
  const double seconds = PyFloat_AsDouble(timeout.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return seconds;
}

msg::Wait to_wait(nb::handle timeout, std::stop_token stop) {
  return wait_for(to_seconds(timeout), std::move(stop));
}

msg::Destination to_destination(nb::handle destination) {
  const std::string_view name = to_view(destination, "a destination");
  if (name.empty()) raise(Error(Code::invalid, "a destination is the name of a peer; say one"));
  return name;
}

std::vector<msg::Expected> to_expected(nb::handle expected) {
  std::vector<msg::Expected> all;
  if (expected.is_none()) return all;
  if (PyUnicode_Check(expected.ptr())) refuse("what is expected", "a dict or a list", expected);
  const nb::object items =
      PyDict_Check(expected.ptr()) ? call(expected.attr("items")) : nb::borrow(expected);
  for (const nb::handle item : nb::list(items)) all.push_back(to_one_expected(item));
  return all;
}

std::vector<msg::SessionId> to_ids(nb::handle ids) {
  std::vector<msg::SessionId> all;
  if (PyUnicode_Check(ids.ptr()) || nb::isinstance<Id>(ids)) return {to_id(ids)};
  for (const nb::handle id : ids) all.push_back(to_id(id));
  return all;
}

msg::Audience to_audience(nb::handle audience) {
  if (audience.is_none()) return msg::Audience::all();
  std::string text(to_view(audience, "an audience"));
  if (text == "*") return msg::Audience::all();
  if (text.find_first_of("*?") != std::string::npos) return msg::Audience::pattern(std::move(text));
  return msg::Audience::type(std::move(text));
}

nb::object give(const ProxyHandle& handle, msg::Message message) {
  return unwrap(to_python(handle, std::move(message)));
}

nb::object give(const ProxyHandle& handle, const msg::Replies& replies) {
  nb::list messages;
  nb::list failures;
  nb::list missing;
  const auto fail = [&](msg::SessionId session, std::string_view peer, const Error& why) {
    failures.append(nb::make_tuple(session, nb::str(peer.data(), peer.size()),
                                   static_cast<int>(why.code()),
                                   nb::str(why.message().data(), why.message().size())));
  };
  for (const msg::Message& message : replies.messages) {
    Result<nb::object> made = to_python(handle, message);
    if (made) {
      messages.append(*made);
    } else {
      fail(message.session_id(), message.source(), made.error());
    }
  }
  for (const auto& failure : replies.failures) fail(failure.session, failure.peer, failure.error);
  for (const msg::SessionId id : replies.missing) missing.append(id);
  return call(nb::module_::import_("muster._replies").attr("make"), messages, failures, missing);
}

}  // namespace muster::python
