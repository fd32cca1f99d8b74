#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "muster/wire/bytes.h"
#include "muster/wire/value_codec.h"
#include "muster/wire/value_format.h"

namespace muster::wire {
namespace {

using internal::big_endian;
using internal::Extension;
using internal::Mark;
using Kind = Value::Kind;

// The first of three walks: may this Value be written, and how many parts has it?
// What fails leaves its reason in error_ and returns false, all the way up.
class Inspection {
 public:
  explicit Inspection(const EncodeOptions& options) : options_(options) {}

  Status inspect_document(const Value& value) {
    if (!inspect(value)) return *std::move(error_);
    return ok();
  }

  // From which size on byte strings become parts, now that all have been counted.
  std::size_t out_of_band_from() const {
    const bool too_many = tensors_ + large_ > options_.limits.max_parts;
    return too_many ? SIZE_MAX : options_.out_of_band_from;
  }

 private:
  bool inspect(const Value& value) {
    switch (value.kind()) {
      case Kind::string: return inspect_string(*value.as_string());
      case Kind::bytes: large_ += value.as_bytes()->size() >= options_.out_of_band_from; break;
      case Kind::list: return inspect_list(*value.as_list());
      case Kind::map: return inspect_map(*value.as_map());
      case Kind::tensor: return inspect_tensor(*value.as_tensor());
      default: break;
    }
    return true;
  }

  bool inspect_string(const std::string& text) {
    return is_utf8(text) || fail("a string that is not UTF-8; what is not text goes as bytes");
  }

  bool inspect_list(const Value::List& list) {
    if (!enter(list.size())) return false;
    for (const Value& item : list) {
      if (!inspect(item)) return false;
    }
    --depth_;
    return true;
  }

  bool inspect_map(const Value::Map& map) {
    if (!enter(2 * map.size())) return false;
    for (const Value::Entry& entry : map) {
      if (!inspect(entry.key) || !inspect(entry.value)) return false;
    }
    --depth_;
    return true;
  }

  bool enter(std::size_t values) {
    const Limits& limits = options_.limits;
    if (depth_ == limits.max_depth) {
      return fail("lists and maps are nested deeper than " + std::to_string(depth_));
    }
    if (values > limits.max_values - values_) {
      return fail("more than " + std::to_string(limits.max_values) + " values");
    }
    ++depth_;
    values_ += values;
    return true;
  }

  bool inspect_tensor(const Tensor& tensor) {
    if (tensor_size(tensor.dtype, tensor.shape) != tensor.bytes.size()) {
      return fail("a tensor whose shape and dtype do not make its " +
                  std::to_string(tensor.bytes.size()) + " bytes");
    }
    if (tensors_ == options_.limits.max_parts) {
      return fail("more than " + std::to_string(tensors_) + " tensors; join some of them");
    }
    ++tensors_;
    return true;
  }

  bool fail(std::string why) {
    error_ = Error(Code::invalid, std::move(why));
    return false;
  }

  const EncodeOptions& options_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::size_t tensors_ = 0;
  std::size_t large_ = 0;  // Byte strings that would like to be parts.
  std::optional<Error> error_;
};

// Where the second walk writes to: nowhere, but it learns the tree's size.
class Counter {
 public:
  template <class T>
  void put(T) {
    size_ += sizeof(T);
  }
  void append(const void*, std::size_t size) { size_ += size; }
  std::uint32_t add_part(const Buffer&) { return 0; }

  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

// Where the third walk writes to: memory of just that size.
class Memory {
 public:
  Memory(std::byte* at, Parts& parts) : at_(at), parts_(parts) {}

  template <class T>
  void put(T number) {
    store(at_, number);
    at_ += sizeof(T);
  }
  void append(const void* bytes, std::size_t size) {
    if (size > 0) std::memcpy(at_, bytes, size);
    at_ += size;
  }
  std::uint32_t add_part(const Buffer& part) {
    parts_.push_back(part);
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }

 private:
  std::byte* at_;
  Parts& parts_;
};

// The walk itself, so that both count and write the same bytes.
template <class Out>
class Writer {
 public:
  Writer(Out& out, std::size_t out_of_band_from) : out_(out), out_of_band_from_(out_of_band_from) {}

  void write(const Value& value) {
    switch (value.kind()) {
      case Kind::nil: return out_.put(Mark::nil);
      case Kind::boolean: return out_.put(*value.as_bool() ? Mark::yes : Mark::no);
      case Kind::integer: return write_integer(*value.as_integer());
      case Kind::unsigned_integer: return number(Mark::unsigned64, *value.as_unsigned());
      case Kind::real: return number(Mark::real64, std::bit_cast<std::uint64_t>(*value.as_real()));
      case Kind::string: return write_string(*value.as_string());
      case Kind::bytes: return write_bytes(*value.as_bytes());
      case Kind::list: return write_list(*value.as_list());
      case Kind::map: return write_map(*value.as_map());
      case Kind::tensor: return write_tensor(*value.as_tensor());
    }
  }

 private:
  template <class T>
  void number(Mark mark, T number) {
    out_.put(mark);
    out_.put(big_endian(number));
  }
  template <class T>
  void number(Mark mark, std::integral auto wide) {
    number(mark, static_cast<T>(wide));
  }
  void small(Mark mark, std::size_t count) {
    out_.put(static_cast<std::uint8_t>(static_cast<std::size_t>(mark) | count));
  }

  void write_integer(std::int64_t n) {
    if (n >= 0) return write_natural(static_cast<std::uint64_t>(n));
    if (n >= -32) return out_.put(static_cast<std::uint8_t>(n));
    if (n >= INT8_MIN) return number<std::uint8_t>(Mark::signed8, n);
    if (n >= INT16_MIN) return number<std::uint16_t>(Mark::signed16, n);
    if (n >= INT32_MIN) return number<std::uint32_t>(Mark::signed32, n);
    number<std::uint64_t>(Mark::signed64, n);
  }

  void write_natural(std::uint64_t n) {
    if (n <= INT8_MAX) return out_.put(static_cast<std::uint8_t>(n));
    if (n <= UINT8_MAX) return number<std::uint8_t>(Mark::unsigned8, n);
    if (n <= UINT16_MAX) return number<std::uint16_t>(Mark::unsigned16, n);
    if (n <= UINT32_MAX) return number<std::uint32_t>(Mark::unsigned32, n);
    number(Mark::unsigned64, n);
  }

  void write_string(const std::string& text) {
    const std::size_t size = text.size();
    if (size <= internal::kFixString) {
      small(Mark::fix_string, size);
    } else if (size <= UINT8_MAX) {
      number<std::uint8_t>(Mark::string8, size);
    } else if (size <= UINT16_MAX) {
      number<std::uint16_t>(Mark::string16, size);
    } else {
      number<std::uint32_t>(Mark::string32, size);
    }
    out_.append(text.data(), size);
  }

  void write_bytes(const Buffer& bytes) {
    const std::size_t size = bytes.size();
    if (size >= out_of_band_from_) {
      extension(Extension::bytes, internal::kBytesExtension);
      return out_.put(out_.add_part(bytes));
    }
    if (size <= UINT8_MAX) {
      number<std::uint8_t>(Mark::bytes8, size);
    } else if (size <= UINT16_MAX) {
      number<std::uint16_t>(Mark::bytes16, size);
    } else {
      number<std::uint32_t>(Mark::bytes32, size);
    }
    out_.append(bytes.data(), size);
  }

  void write_list(const Value::List& list) {
    begin(list.size(), Mark::fix_list, Mark::list16, Mark::list32);
    for (const Value& item : list) write(item);
  }

  void write_map(const Value::Map& map) {
    begin(map.size(), Mark::fix_map, Mark::map16, Mark::map32);
    for (const Value::Entry& entry : map) {
      write(entry.key);
      write(entry.value);
    }
  }

  void begin(std::size_t count, Mark fix, Mark mark16, Mark mark32) {
    if (count <= internal::kFixCount) return small(fix, count);
    if (count <= UINT16_MAX) return number<std::uint16_t>(mark16, count);
    number<std::uint32_t>(mark32, count);
  }

  void write_tensor(const Tensor& tensor) {
    extension(Extension::tensor, internal::kTensorExtension + 8 * tensor.shape.size());
    out_.put(out_.add_part(tensor.bytes));
    out_.put(static_cast<std::uint32_t>(tensor.dtype));
    for (const std::uint64_t count : tensor.shape) out_.put(count);
  }

  void extension(Extension type, std::size_t size) {
    if (size == 4) {
      out_.put(Mark::fix_extension4);
    } else if (size == 8) {
      out_.put(Mark::fix_extension8);
    } else if (size == 16) {
      out_.put(Mark::fix_extension16);
    } else if (size <= UINT8_MAX) {
      number<std::uint8_t>(Mark::extension8, size);
    } else {
      number<std::uint16_t>(Mark::extension16, size);
    }
    out_.put(type);
  }

  Out& out_;
  const std::size_t out_of_band_from_;
};

}  // namespace

Result<Document> encode(const Value& value, const EncodeOptions& options) {
  Inspection inspection(options);
  MUSTER_TRY_OK(inspection.inspect_document(value));

  Counter counter;
  Writer(counter, inspection.out_of_band_from()).write(value);
  // MessagePack counts in 32 bits: a tree within them has no length beyond them.
  const std::size_t limit = std::min<std::size_t>(options.limits.max_bytes, UINT32_MAX);
  if (counter.size() > limit) {
    return Error(Code::invalid, "a document of " + std::to_string(counter.size()) +
                                    " bytes, at most " + std::to_string(limit) + " may be sent");
  }

  Document document;
  WritableBuffer tree = WritableBuffer::on_heap(counter.size());
  Memory memory(tree.data(), document.parts);
  Writer(memory, inspection.out_of_band_from()).write(value);
  document.tree = std::move(tree).freeze();
  return document;
}

}  // namespace muster::wire
