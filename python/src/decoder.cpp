// All of it needs the interpreter's lock.

#include "decoder.h"

#include <bit>
#include <string>
#include <type_traits>
#include <utility>

#include "interpreter.h"
#include "key_cache.h"

namespace muster::python {
namespace {

using wire::internal::Mark;

Error invalid(std::string_view why) {
  return {Code::invalid, "a message's body: " + std::string(why)};
}

}  // namespace

Decoder::Decoder(const Buffer& tree, std::span<const Buffer> parts, const DecodeOptions& options)
    : tree_(tree),
      at_(tree.data()),
      end_(at_ + tree.size()),
      parts_(parts),
      options_(options),
      limits_(options.limits.values) {}

Result<nb::object> Decoder::read_document() {
  if (tree_.size() > limits_.max_bytes || parts_.size() > limits_.max_parts) {
    return invalid("a document above the limits");
  }
  nb::object value = nb::steal(read());
  if (!value.is_valid()) return error();
  if (at_ != end_) return invalid(std::to_string(left()) + " bytes follow the document");
  if (next_part_ != parts_.size()) return invalid("a part that the document does not speak of");
  return value;
}

Error Decoder::error() {
  if (error_) return *std::move(error_);
  const nb::python_error raised;  // Takes Python's own error.
  if (is_exit(raised)) throw nb::python_error(raised);
  return invalid(raised.what());
}

PyObject* Decoder::read() {
  std::uint8_t first = 0;
  if (!take(first)) return nullptr;
  const auto mark = static_cast<Mark>(first);
  if (mark < Mark::fix_map) return PyLong_FromLong(first);
  if (mark >= Mark::fix_negative) return PyLong_FromLong(static_cast<std::int8_t>(first));
  if (mark < Mark::fix_list) return read_map(first & wire::internal::kFixCount);
  if (mark < Mark::fix_string) return read_list(first & wire::internal::kFixCount);
  if (mark < Mark::nil) return read_string(first & wire::internal::kFixString);
  return read_marked(mark);
}

PyObject* Decoder::read_marked(Mark mark) {
  switch (mark) {
    case Mark::nil: return Py_NewRef(Py_None);
    case Mark::no: return Py_NewRef(Py_False);
    case Mark::yes: return Py_NewRef(Py_True);
    case Mark::bytes8: return read_counted<std::uint8_t>(&Decoder::read_bytes);
    case Mark::bytes16: return read_counted<std::uint16_t>(&Decoder::read_bytes);
    case Mark::bytes32: return read_counted<std::uint32_t>(&Decoder::read_bytes);
    case Mark::extension8: return read_counted<std::uint8_t>(&Decoder::read_extension);
    case Mark::extension16: return read_counted<std::uint16_t>(&Decoder::read_extension);
    case Mark::extension32: return read_counted<std::uint32_t>(&Decoder::read_extension);
    case Mark::real32: return read_real<std::uint32_t, float>();
    case Mark::real64: return read_real<std::uint64_t, double>();
    case Mark::unsigned8: return read_integer<std::uint8_t, std::uint8_t>();
    case Mark::unsigned16: return read_integer<std::uint16_t, std::uint16_t>();
    case Mark::unsigned32: return read_integer<std::uint32_t, std::uint32_t>();
    case Mark::unsigned64: return read_integer<std::uint64_t, std::uint64_t>();
    case Mark::signed8: return read_integer<std::uint8_t, std::int8_t>();
    case Mark::signed16: return read_integer<std::uint16_t, std::int16_t>();
    case Mark::signed32: return read_integer<std::uint32_t, std::int32_t>();
    case Mark::signed64: return read_integer<std::uint64_t, std::int64_t>();
    case Mark::fix_extension1: return read_extension(1);
    case Mark::fix_extension2: return read_extension(2);
    case Mark::fix_extension4: return read_extension(4);
    case Mark::fix_extension8: return read_extension(8);
    case Mark::fix_extension16: return read_extension(16);
    case Mark::string8: return read_counted<std::uint8_t>(&Decoder::read_string);
    case Mark::string16: return read_counted<std::uint16_t>(&Decoder::read_string);
    case Mark::string32: return read_counted<std::uint32_t>(&Decoder::read_string);
    case Mark::list16: return read_long_list<std::uint16_t>(wire::internal::kFixCount);
    case Mark::list32: return read_long_list<std::uint32_t>(UINT16_MAX);
    case Mark::map16: return read_counted<std::uint16_t>(&Decoder::read_map);
    case Mark::map32: return read_counted<std::uint32_t>(&Decoder::read_map);
    default: return fail("no MessagePack value begins with 0xc1");
  }
}

template <class Count>
PyObject* Decoder::read_counted(PyObject* (Decoder::*read_rest)(std::size_t count)) {
  Count count = 0;
  return take(count) ? (this->*read_rest)(count) : nullptr;
}
template <class Bits, class Number>
PyObject* Decoder::read_real() {
  Bits bits = 0;
  return take(bits) ? PyFloat_FromDouble(std::bit_cast<Number>(bits)) : nullptr;
}
template <class Bits, class Number>
PyObject* Decoder::read_integer() {
  Bits bits = 0;
  if (!take(bits)) return nullptr;
  const auto number = std::bit_cast<Number>(bits);
  if constexpr (std::is_signed_v<Number>) return PyLong_FromLongLong(number);
  return PyLong_FromUnsignedLongLong(number);
}

PyObject* Decoder::read_string(std::size_t size) {
  if (!has(size)) return nullptr;
  const char* text = reinterpret_cast<const char*>(at_);
  at_ += size;
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), nullptr);
}

PyObject* Decoder::read_bytes(std::size_t size) {
  if (!has(size)) return nullptr;
  const char* bytes = reinterpret_cast<const char*>(at_);
  at_ += size;
  return PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(size));
}

PyObject* Decoder::read_list(std::size_t count, bool is_tuple) {
  if (!enter(count)) return nullptr;
  // A key must be hashable: there a list is a tuple.
  const bool is_key = std::exchange(is_key_, false);
  is_tuple |= is_key;
  nb::object list = nb::steal(is_tuple ? PyTuple_New(static_cast<Py_ssize_t>(count))
                                       : PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list.is_valid()) return nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    is_key_ = is_key;
    PyObject* item = read();
    if (item == nullptr) return nullptr;
    if (is_tuple) {
      PyTuple_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), item);
    } else {
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), item);
    }
  }
  is_key_ = false;
  --depth_;
  return list.release().ptr();
}

template <class Count>
PyObject* Decoder::read_long_list(std::size_t shorter) {
  Count count = 0;
  return take(count) ? read_list(count, count <= shorter) : nullptr;
}

PyObject* Decoder::read_map(std::size_t count) {
  if (is_key_) return fail("a dict as the key of another");
  if (count > SIZE_MAX / 2 || !enter(2 * count)) return nullptr;
  const nb::object map = nb::steal(PyDict_New());
  if (!map.is_valid()) return nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object key = nb::steal(read_key());
    if (!key.is_valid()) return nullptr;
    const nb::object value = nb::steal(read());
    if (!value.is_valid() || PyDict_SetItem(map.ptr(), key.ptr(), value.ptr()) != 0) {
      return nullptr;
    }
  }
  --depth_;
  return Py_NewRef(map.ptr());
}

PyObject* Decoder::read_key() {
  const auto first = at_ < end_ ? static_cast<std::size_t>(*at_) : 0;
  const auto mark = static_cast<std::size_t>(Mark::fix_string);
  if (first >= mark && first <= mark + KeyCache::kLongest && left() > first - mark) {
    const std::string_view text(reinterpret_cast<const char*>(at_) + 1, first - mark);
    at_ += 1 + text.size();
    return keys().get(text);
  }
  is_key_ = true;
  PyObject* key = read();
  is_key_ = false;
  return key;
}

bool Decoder::enter(std::size_t values) {
  // Each value is a byte at least: a claim that cannot be met takes no memory.
  if (values > left()) return fail("a list or dict is cut short") != nullptr;
  if (depth_ == limits_.max_depth) return fail("it is nested too deep") != nullptr;
  values_ += values;
  if (values_ > limits_.max_values) return fail("it has too many values") != nullptr;
  ++depth_;
  return true;
}

bool Decoder::has(std::size_t size) {
  return size <= left() || fail("the document is cut short") != nullptr;
}

PyObject* Decoder::fail(std::string_view why, Code code) {
  error_ = Error(code, "a message's body, byte " + std::to_string(at_ - tree_.data()) + ": " +
                           std::string(why));
  return nullptr;
}

}  // namespace muster::python
