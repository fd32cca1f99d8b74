// All of it needs the interpreter's lock; copies of large arrays let it go.

#include "encode.h"

#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "interpreter.h"
#include "muster/wire/bytes.h"
#include "muster/wire/value_format.h"
#include "wire_extensions.h"

namespace muster::python {
namespace {

using wire::internal::big_endian;
using wire::internal::Extension;
using wire::internal::Mark;

constexpr std::size_t kOutOfBandFrom = 4096;
constexpr std::size_t kMaxParts = wire::kMaxParts - 1;

[[noreturn]] void refuse(const std::string& why) {
  raise(Error(Code::invalid, "send a body: " + why));
}

std::string type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

// The bytes of the tree. Keeps its memory for the next one of this thread.
class Output {
 public:
  Output() { bytes_.swap(spare()); }
  ~Output() {
    constexpr std::size_t kKept = std::size_t{1} << 20;
    if (bytes_.size() <= kKept) bytes_.swap(spare());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  template <class T>
  void put(T number) {
    wire::store(grow(sizeof(T)), number);
  }
  void append(const void* data, std::size_t size) {
    if (size > 0) std::memcpy(grow(size), data, size);
  }
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  static std::vector<std::byte>& spare() {
    thread_local std::vector<std::byte> kept;
    return kept;
  }
  std::byte* grow(std::size_t size) {
    if (size_ + size > bytes_.size()) bytes_.resize(2 * (size_ + size) + 256);
    return bytes_.data() + std::exchange(size_, size_ + size);
  }

  std::vector<std::byte> bytes_;
  std::size_t size_ = 0;
};

class Encoder {
 public:
  explicit Encoder(const EncodeOptions& options) : options_(options) {}

  msg::EncodedBody encode(PyObject* body) {
    msg::EncodedBody encoded;
    if (body == Py_None) return encoded;
    if (PyBytes_CheckExact(body)) {
      encoded.form = msg::BodyForm::bytes;
      encoded.parts.push_back(bytes_buffer(body));
      return encoded;
    }
    write(body);
    if (out_.bytes().size() > limits_.max_bytes) {
      refuse(std::to_string(out_.bytes().size()) + " bytes of it are no arrays, at most " +
             std::to_string(limits_.max_bytes) + " may be");
    }
    encoded.form = msg::BodyForm::document;
    encoded.parts.push_back(Buffer::copy_of(out_.bytes()));
    for (Buffer& part : parts_) encoded.parts.push_back(std::move(part));
    return encoded;
  }

 private:
  void write(PyObject* object) {
    if (PyUnicode_CheckExact(object)) return write_string(object);
    if (PyLong_CheckExact(object)) return write_integer(object);
    if (PyFloat_CheckExact(object)) return write_real(PyFloat_AS_DOUBLE(object));
    if (object == Py_None) return out_.put(Mark::nil);
    if (object == Py_True) return out_.put(Mark::yes);
    if (object == Py_False) return out_.put(Mark::no);
    if (PyDict_CheckExact(object)) return write_map(object);
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) return write_list(object);
    if (PyBytes_CheckExact(object)) return write_bytes(object);
    write_other(object);
  }

  void write_other(PyObject* object) {
    if (is_array(object)) {
      const nb::object dtype = nb::handle(object).attr("dtype");
      const bool has_objects = nb::cast<bool>(dtype.attr("hasobject"));
      if (has_objects || is_more_than_array(object) || !has_dtype_to_tell(dtype)) {
        return write_pickle(object);
      }
      return write_array(read_array(object, options_.keeping));
    }
    if (const nb::object plain = plain_scalar(object); plain.is_valid()) {
      if (Py_TYPE(plain.ptr()) != Py_TYPE(object)) return write(plain.ptr());
      return write_pickle(object);
    }
    if (PyUnicode_Check(object)) return write_string(object);
    if (PyBytes_Check(object)) return write_bytes(object);
    if (PyLong_Check(object)) return write_integer(object);
    if (PyFloat_Check(object)) return write_real(PyFloat_AS_DOUBLE(object));
    if (PyDict_Check(object)) return write_map(object);
    if (PyList_Check(object) || PyTuple_Check(object)) return write_list(object);
    if (std::optional<Array> array = read_foreign(object, options_.keeping)) {
      return write_array(*std::move(array));
    }
    write_pickle(object);
  }

  template <class T>
  void number(Mark mark, T number) {
    out_.put(mark);
    out_.put(big_endian(number));
  }
  void small(Mark mark, std::size_t count) {
    out_.put(static_cast<std::uint8_t>(static_cast<std::size_t>(mark) | count));
  }

  void write_real(double real) { number(Mark::real64, std::bit_cast<std::uint64_t>(real)); }

  void write_integer(PyObject* object) {
    int overflow = 0;
    const long long n = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return write_number(n);
    const unsigned long long large =
        overflow > 0 ? PyLong_AsUnsignedLongLong(object) : static_cast<unsigned long long>(-1);
    if (overflow < 0 || PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return write_pickle(object);
    }
    number<std::uint64_t>(Mark::unsigned64, large);
  }

  void write_number(long long n) {
    if (n >= 0) {
      const auto natural = static_cast<std::uint64_t>(n);
      if (natural <= INT8_MAX) return out_.put(static_cast<std::uint8_t>(natural));
      if (natural <= UINT8_MAX) return number(Mark::unsigned8, static_cast<std::uint8_t>(natural));
      if (natural <= UINT16_MAX) {
        return number(Mark::unsigned16, static_cast<std::uint16_t>(natural));
      }
      if (natural <= UINT32_MAX) {
        return number(Mark::unsigned32, static_cast<std::uint32_t>(natural));
      }
      return number(Mark::unsigned64, natural);
    }
    if (n >= -32) return out_.put(static_cast<std::uint8_t>(n));
    if (n >= INT8_MIN) return number(Mark::signed8, static_cast<std::uint8_t>(n));
    if (n >= INT16_MIN) return number(Mark::signed16, static_cast<std::uint16_t>(n));
    if (n >= INT32_MIN) return number(Mark::signed32, static_cast<std::uint32_t>(n));
    number(Mark::signed64, static_cast<std::uint64_t>(n));
  }

  void write_string(PyObject* object) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text == nullptr) throw nb::python_error();
    const auto size = static_cast<std::size_t>(length);
    if (size <= wire::internal::kFixString) {
      small(Mark::fix_string, size);
    } else if (size <= UINT8_MAX) {
      number(Mark::string8, static_cast<std::uint8_t>(size));
    } else if (size <= UINT16_MAX) {
      number(Mark::string16, static_cast<std::uint16_t>(size));
    } else if (size <= UINT32_MAX) {
      number(Mark::string32, static_cast<std::uint32_t>(size));
    } else {
      refuse("a text of more than 4 GiB");
    }
    out_.append(text, size);
  }

  void write_bytes(PyObject* object) {
    const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(object));
    if (size >= kOutOfBandFrom && parts_.size() < kMaxParts) {
      const std::uint32_t part = add_part(bytes_buffer(object));
      out_.put(Mark::fix_extension4);
      out_.put(Extension::bytes);
      return out_.put(part);
    }
    if (size <= UINT8_MAX) {
      number(Mark::bytes8, static_cast<std::uint8_t>(size));
    } else if (size <= UINT16_MAX) {
      number(Mark::bytes16, static_cast<std::uint16_t>(size));
    } else if (size <= UINT32_MAX) {
      number(Mark::bytes32, static_cast<std::uint32_t>(size));
    } else {
      refuse("more than 4 GiB of bytes after " + std::to_string(kMaxParts) + " arrays");
    }
    out_.append(PyBytes_AS_STRING(object), size);
  }

  // Bytes never change: no copy, and nobody need wait for them.
  static Buffer bytes_buffer(PyObject* object) {
    const std::span<const std::byte> bytes(
        reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(object)),
        static_cast<std::size_t>(PyBytes_GET_SIZE(object)));
    if (bytes.size() < kOutOfBandFrom) return Buffer::copy_of(bytes);
    return borrow_bytes(bytes, nb::borrow(object), nullptr);
  }

  void write_list(PyObject* list) {
    const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list));
    enter(count);
    if (PyTuple_Check(list)) {
      begin_tuple(count);
    } else {
      begin(count, Mark::fix_list, Mark::list16, Mark::list32);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list)) != count) {
        refuse("a list that changed meanwhile");
      }
      const nb::object item =
          nb::borrow(PySequence_Fast_GET_ITEM(list, static_cast<Py_ssize_t>(i)));
      write(item.ptr());
    }
    --depth_;
  }

  void write_map(PyObject* map) {
    if (is_key_) refuse("a dict as the key of another");
    const auto count = static_cast<std::size_t>(PyDict_GET_SIZE(map));
    enter(2 * count);
    begin(count, Mark::fix_map, Mark::map16, Mark::map32);
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    std::size_t seen = 0;
    while (PyDict_Next(map, &at, &key, &value) != 0) {
      // What is pickled in between runs code of anybody's.
      const nb::object kept_key = nb::borrow(key);
      const nb::object kept_value = nb::borrow(value);
      is_key_ = true;
      write(key);
      is_key_ = false;
      write(value);
      ++seen;
    }
    if (seen != count) refuse("a dict that changed meanwhile");
    --depth_;
  }

  void enter(std::size_t values) {
    if (depth_ == limits_.max_depth) {
      refuse("lists and dicts are nested deeper than " + std::to_string(depth_));
    }
    values_ += values;
    if (values_ > limits_.max_values) {
      refuse("more than " + std::to_string(limits_.max_values) +
             " values in lists and dicts; numbers go better as an array");
    }
    ++depth_;
  }

  void begin(std::size_t count, Mark fix, Mark mark16, Mark mark32) {
    if (count <= wire::internal::kFixCount) return small(fix, count);
    if (count <= UINT16_MAX) return number(mark16, static_cast<std::uint16_t>(count));
    number(mark32, static_cast<std::uint32_t>(count));
  }

  // A list whose count is written longer than it need be. Those who know nothing of
  // tuples read a list.
  void begin_tuple(std::size_t count) {
    if (count <= wire::internal::kFixCount) {
      return number(Mark::list16, static_cast<std::uint16_t>(count));
    }
    number(Mark::list32, static_cast<std::uint32_t>(count));
  }

  void write_array(Array array) {
    if (is_key_) refuse("an array as the key of a dict");
    const std::size_t rank = array.shape.size();
    const std::size_t text = array.description.size();
    constexpr std::size_t kBefore = wire::internal::kTensorExtension;
    const std::uint32_t part = add_part(std::move(array.bytes));
    if (array.dtype) {
      extension(static_cast<std::uint8_t>(Extension::tensor), kBefore + 8 * rank);
      out_.put(part);
      out_.put(static_cast<std::uint32_t>(*array.dtype));
    } else {
      if (text > UINT16_MAX / 2) refuse("an array whose dtype takes a book to describe");
      extension(static_cast<std::uint8_t>(PythonExtension::array), kBefore + 8 * rank + text);
      out_.put(part);
      out_.put(static_cast<std::uint32_t>(rank));
    }
    for (const std::uint64_t count : array.shape) out_.put(count);
    out_.append(array.description.data(), text);
  }

  void extension(std::uint8_t type, std::size_t size) {
    if (size == 8) {
      out_.put(Mark::fix_extension8);
    } else if (size == 16) {
      out_.put(Mark::fix_extension16);
    } else if (size <= UINT8_MAX) {
      number(Mark::extension8, static_cast<std::uint8_t>(size));
    } else {
      number(Mark::extension16, static_cast<std::uint16_t>(size));
    }
    out_.put(type);
  }

  // Protocol 5, with the memory of arrays left out of it.
  void write_pickle(PyObject* object) {
    nb::object dumps = nb::borrow(options_.dumps);
    if (!dumps.is_valid()) dumps = nb::module_::import_("pickle").attr("dumps");
    const nb::list left_out;
    nb::object pickled;
    try {
      pickled = call(dumps, nb::handle(object), nb::arg("protocol") = 5,
                     nb::arg("buffer_callback") = left_out.attr("append"));
    } catch (const nb::python_error& raised) {
      if (is_exit(raised) || raised.matches(PyExc_MemoryError)) throw;
      // Chained, so that the reason is seen and the type is ours.
      nb::object type = nb::module_::import_("muster.errors").attr("InvalidError");
      const std::string why = "send a body: a " + type_name(object) +
                              " is no plain value, and cannot be pickled: " + raised.what();
      nb::raise_from(const_cast<nb::python_error&>(raised), type.ptr(), "%s", why.c_str());
      throw nb::python_error();
    }
    if (PyBytes_Check(pickled.ptr()) == 0) {
      refuse("what the pickler made of a " + type_name(object) + " is no bytes but a " +
             type_name(pickled.ptr()));
    }
    const std::uint32_t first = add_part(bytes_buffer(pickled.ptr()));
    const std::size_t count = nb::len(left_out);
    for (const nb::handle buffer : left_out) {
      const nb::object raw = call(buffer.attr("raw"));
      const Py_buffer* view = PyMemoryView_GET_BUFFER(raw.ptr());
      const std::span<const std::byte> bytes(static_cast<const std::byte*>(view->buf),
                                             static_cast<std::size_t>(view->len));
      add_part(keep_bytes(bytes, raw, options_.keeping));
    }
    extension(static_cast<std::uint8_t>(PythonExtension::pickle), 8);
    out_.put(first);
    out_.put(static_cast<std::uint32_t>(1 + count));
  }

  std::uint32_t add_part(Buffer part) {
    if (parts_.size() == kMaxParts) {
      refuse("more than " + std::to_string(kMaxParts) + " arrays; join some of them");
    }
    parts_.push_back(std::move(part));
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }

  const EncodeOptions& options_;
  const wire::Limits limits_ = {};
  Output out_;
  std::vector<Buffer> parts_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  bool is_key_ = false;  // What is written now is one, or a part of one.
};

}  // namespace

msg::EncodedBody encode(nb::handle body, const EncodeOptions& options) {
  msg::EncodedBody encoded = Encoder(options).encode(body.ptr());
  if (options.compression != msg::Compression::none) {
    const Unlocked unlocked;
    msg::compress_body(encoded, options.compression);
  }
  return encoded;
}

}  // namespace muster::python
