// All of it needs the interpreter's lock. Pickles run code of anybody's, and are
// read only where that is wanted.

#include "decode.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
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

// Strings that were keys a short while ago: most dicts have the same.
class KeyCache {
 public:
  PyObject* get(std::string_view text) {
    std::uint64_t hash = 1469598103934665603U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    Slot& slot = slots_[hash % slots_.size()];
    if (slot.string != nullptr && slot.text() == text) return Py_NewRef(slot.string);
    PyObject* made =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
    if (made == nullptr || !PyUnicode_IS_COMPACT_ASCII(made)) return made;
    PyObject_Hash(made);
    Py_XDECREF(std::exchange(slot.string, Py_NewRef(made)));
    return made;
  }

 private:
  struct Slot {
    PyObject* string = nullptr;  // ASCII, so that its characters are its bytes.
    std::string_view text() const {
      return {static_cast<const char*>(PyUnicode_DATA(string)),
              static_cast<std::size_t>(PyUnicode_GET_LENGTH(string))};
    }
  };
  std::array<Slot, 512> slots_{};
};

constexpr std::size_t kCachedKey = 32;

KeyCache& keys() {
  static auto* const cache = new KeyCache;  // Its strings outlive every module.
  return *cache;
}

// Reads one document, front to back. Null: error_ says why, or Python's own error is set.
class Decoder {
 public:
  Decoder(const Buffer& tree, std::span<const Buffer> parts, const DecodeOptions& options)
      : tree_(tree),
        at_(tree.data()),
        end_(at_ + tree.size()),
        parts_(parts),
        options_(options),
        limits_(options.limits.values) {}

  Result<nb::object> read_document() {
    if (tree_.size() > limits_.max_bytes || parts_.size() > limits_.max_parts) {
      return invalid("a document above the limits");
    }
    nb::object value = nb::steal(read());
    if (!value.is_valid()) return error();
    if (at_ != end_) return invalid(std::to_string(left()) + " bytes follow the document");
    if (next_part_ != parts_.size()) return invalid("a part that the document does not speak of");
    return value;
  }

 private:
  static Error invalid(std::string_view why) {
    return {Code::invalid, "a message's body: " + std::string(why)};
  }

  Error error() {
    if (error_) return *std::move(error_);
    const nb::python_error raised;  // Takes Python's own error.
    return invalid(raised.what());
  }

  PyObject* read() {
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

  PyObject* read_marked(Mark mark) {
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
      case Mark::list16: return read_counted<std::uint16_t>(&Decoder::read_list);
      case Mark::list32: return read_counted<std::uint32_t>(&Decoder::read_list);
      case Mark::map16: return read_counted<std::uint16_t>(&Decoder::read_map);
      case Mark::map32: return read_counted<std::uint32_t>(&Decoder::read_map);
      default: return fail("no MessagePack value begins with 0xc1");
    }
  }

  using Read = PyObject* (Decoder::*)(std::size_t count);
  template <class T>
  PyObject* read_counted(Read read_rest) {
    T count = 0;
    return take(count) ? (this->*read_rest)(count) : nullptr;
  }
  template <class Bits, class Number>
  PyObject* read_real() {
    Bits bits = 0;
    return take(bits) ? PyFloat_FromDouble(std::bit_cast<Number>(bits)) : nullptr;
  }
  template <class Bits, class Number>
  PyObject* read_integer() {
    Bits bits = 0;
    if (!take(bits)) return nullptr;
    const auto number = std::bit_cast<Number>(bits);
    if constexpr (std::is_signed_v<Number>) return PyLong_FromLongLong(number);
    return PyLong_FromUnsignedLongLong(number);
  }

  PyObject* read_string(std::size_t size) {
    if (!has(size)) return nullptr;
    const char* text = reinterpret_cast<const char*>(at_);
    at_ += size;
    return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), nullptr);
  }

  PyObject* read_bytes(std::size_t size) {
    if (!has(size)) return nullptr;
    const char* bytes = reinterpret_cast<const char*>(at_);
    at_ += size;
    return PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(size));
  }

  PyObject* read_list(std::size_t count) {
    if (!enter(count)) return nullptr;
    // A key must be hashable: there a list is a tuple.
    const bool is_key = std::exchange(is_key_, false);
    nb::object list = nb::steal(is_key ? PyTuple_New(static_cast<Py_ssize_t>(count))
                                       : PyList_New(static_cast<Py_ssize_t>(count)));
    if (!list.is_valid()) return nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      is_key_ = is_key;
      PyObject* item = read();
      if (item == nullptr) return nullptr;
      if (is_key) {
        PyTuple_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), item);
      } else {
        PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), item);
      }
    }
    is_key_ = false;
    --depth_;
    return list.release().ptr();
  }

  PyObject* read_map(std::size_t count) {
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

  PyObject* read_key() {
    const auto first = at_ < end_ ? static_cast<std::size_t>(*at_) : 0;
    const auto mark = static_cast<std::size_t>(Mark::fix_string);
    if (first >= mark && first < mark + kCachedKey && left() > first - mark) {
      const std::string_view text(reinterpret_cast<const char*>(at_) + 1, first - mark);
      at_ += 1 + text.size();
      return keys().get(text);
    }
    is_key_ = true;
    PyObject* key = read();
    is_key_ = false;
    return key;
  }

  bool enter(std::size_t values) {
    // Each value is a byte at least: a claim that cannot be met takes no memory.
    if (values > left()) return fail("a list or dict is cut short") != nullptr;
    if (depth_ == limits_.max_depth) return fail("it is nested too deep") != nullptr;
    values_ += values;
    if (values_ > limits_.max_values) return fail("it has too many values") != nullptr;
    ++depth_;
    return true;
  }

  PyObject* read_extension(std::size_t size) {
    std::uint8_t type = 0;
    if (!take(type) || !has(size)) return nullptr;
    const std::span<const std::byte> payload(at_, size);
    at_ += size;
    if (type == static_cast<std::uint8_t>(Extension::bytes)) return read_part_bytes(payload);
    if (is_key_) return fail("an array or pickle as a key");
    if (type == static_cast<std::uint8_t>(Extension::tensor)) return read_tensor(payload);
    if (type == static_cast<std::uint8_t>(PythonExtension::array)) return read_odd_array(payload);
    if (type == static_cast<std::uint8_t>(PythonExtension::pickle)) return read_pickle(payload);
    return fail("an extension of type " + std::to_string(type) + ", which is unknown",
                Code::unsupported);
  }

  PyObject* read_part_bytes(std::span<const std::byte> payload) {
    if (payload.size() != wire::internal::kBytesExtension) return fail("a reference of wrong size");
    const Buffer* part = take_part(wire::load<std::uint32_t>(payload.data()));
    if (part == nullptr) return nullptr;
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(part->data()),
                                     static_cast<Py_ssize_t>(part->size()));
  }

  // False if there are not `rank` dimensions at `from`.
  bool read_shape(std::span<const std::byte> from, std::size_t rank,
                  std::vector<std::uint64_t>& shape) {
    if (rank > wire::kMaxRank || from.size() < 8 * rank) {
      return fail("an array with too many dimensions") != nullptr;
    }
    for (std::size_t i = 0; i < rank; ++i) {
      shape.push_back(wire::load<std::uint64_t>(from.data() + 8 * i));
    }
    return true;
  }

  PyObject* read_tensor(std::span<const std::byte> payload) {
    constexpr std::size_t kBefore = wire::internal::kTensorExtension;
    if (payload.size() < kBefore || payload.size() % 8 != 0) return fail("a tensor of wrong size");
    const auto number = wire::load<std::uint32_t>(payload.data() + 4);
    const auto dtype = static_cast<wire::DType>(number);
    if (number > UINT8_MAX || wire::size_of(dtype) == 0) return fail("a tensor of unknown dtype");
    std::vector<std::uint64_t> shape;
    const std::span<const std::byte> dimensions = payload.subspan(kBefore);
    if (!read_shape(dimensions, dimensions.size() / 8, shape)) return nullptr;
    const Buffer* part = take_part(wire::load<std::uint32_t>(payload.data()));
    if (part == nullptr) return nullptr;
    if (wire::tensor_size(dtype, shape) != part->size()) {
      return fail("a tensor whose shape does not fit its bytes");
    }
    return guard([&] { return make_array(dtype, shape, *part); });
  }

  PyObject* read_odd_array(std::span<const std::byte> payload) {
    constexpr std::size_t kBefore = wire::internal::kTensorExtension;
    if (payload.size() < kBefore) return fail("an array of wrong size");
    const auto rank = wire::load<std::uint32_t>(payload.data() + 4);
    std::vector<std::uint64_t> shape;
    if (!read_shape(payload.subspan(kBefore), rank, shape)) return nullptr;
    const std::span<const std::byte> text = payload.subspan(kBefore + 8 * shape.size());
    const std::string name(reinterpret_cast<const char*>(text.data()), text.size());
    const Buffer* part = take_part(wire::load<std::uint32_t>(payload.data()));
    if (part == nullptr) return nullptr;
    return guard([&] { return make_array(name, shape, *part); });
  }

  PyObject* read_pickle(std::span<const std::byte> payload) {
    if (payload.size() != 8) return fail("a pickle of wrong size");
    auto index = wire::load<std::uint32_t>(payload.data());
    const auto count = wire::load<std::uint32_t>(payload.data() + 4);
    if (count == 0 || count > parts_.size()) return fail("a pickle without its parts");
    if (!options_.accepts_pickles) {
      return fail(
          "it holds a pickle, which this component does not accept; send plain values and "
          "arrays, or give its Proxy accepts_pickles=True if all who send to it are trusted",
          Code::unsupported);
    }
    const Buffer* pickle = take_part(index);
    if (pickle == nullptr) return nullptr;
    const nb::list buffers;
    for (std::uint32_t i = 1; i < count; ++i) {
      const Buffer* part = take_part(++index);
      if (part == nullptr) return nullptr;
      PyList_Append(buffers.ptr(), to_memory(*part).ptr());
    }
    return guard([&] {
      return nb::module_::import_("pickle").attr("loads")(to_memory(*pickle),
                                                          nb::arg("buffers") = buffers);
    });
  }

  template <class F>
  PyObject* guard(F make) {
    try {
      return nb::object(make()).release().ptr();
    } catch (const nb::python_error& raised) {
      return fail(raised.what(), Code::failed);
    }
  }

  // In order, so that each is meant once.
  const Buffer* take_part(std::uint32_t index) {
    if (index == next_part_ && index < parts_.size()) return &parts_[next_part_++];
    fail("a reference to a part that is not the next one");
    return nullptr;
  }

  template <class T>
  bool take(T& number) {
    if (left() < sizeof(T)) return fail("the document is cut short") != nullptr;
    number = big_endian(wire::load<T>(at_));
    at_ += sizeof(T);
    return true;
  }
  bool has(std::size_t size) {
    return size <= left() || fail("the document is cut short") != nullptr;
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  PyObject* fail(std::string_view why, Code code = Code::invalid) {
    error_ = Error(code, "a message's body, byte " + std::to_string(at_ - tree_.data()) + ": " +
                             std::string(why));
    return nullptr;
  }

  const Buffer& tree_;
  const std::byte* at_;
  const std::byte* const end_;
  const std::span<const Buffer> parts_;
  const DecodeOptions& options_;
  const wire::Limits& limits_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::size_t next_part_ = 0;
  bool is_key_ = false;
  std::optional<Error> error_;
};

Result<nb::object> read_document(std::span<const Buffer> parts, const DecodeOptions& options) {
  const BufferOwner* owner = parts[0].owner();
  // What other processes can write to may change while it is read: then a copy.
  const bool is_shared = owner != nullptr && owner->origin() != nullptr;
  const Buffer tree = is_shared ? Buffer::copy_of(parts[0].bytes()) : parts[0];
  return Decoder(tree, parts.subspan(1), options).read_document();
}

Result<nb::object> decode_plain(const msg::EncodedBody& body, const DecodeOptions& options) {
  const std::span<const Buffer> parts(body.parts.begin(), body.parts.end());
  switch (body.form) {
    case msg::BodyForm::none:
      if (parts.empty()) return nb::object(nb::none());
      break;
    case msg::BodyForm::bytes:
      if (parts.size() != 1) break;
      return nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(parts[0].data()),
                                                 static_cast<Py_ssize_t>(parts[0].size())));
    case msg::BodyForm::document:
      if (parts.empty()) break;
      return read_document(parts, options);
  }
  return Error(Code::invalid, "a message's body: its parts are not what its head says");
}

}  // namespace

Result<nb::object> decode(const msg::EncodedBody& body, const DecodeOptions& options) {
  if (body.compression == msg::Compression::none) return decode_plain(body, options);
  Result<msg::EncodedBody> expanded = [&] {
    const Unlocked unlocked;
    return msg::expand_body(body, options.limits);
  }();
  if (!expanded) return std::move(expanded).error();
  return decode_plain(*expanded, options);
}

}  // namespace muster::python
