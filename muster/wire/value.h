// Value: what a body says. Numbers, text, bytes, lists, maps and tensors in a tree.
//
// value_codec.h turns it into bytes and back. Copying, comparing and destroying
// a Value go as deep into the stack as its lists and maps are nested.

#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "muster/base/buffer.h"

namespace muster::wire {

// What the elements of a tensor are. The numbers travel: append, never renumber.
enum class DType : std::uint8_t {
  boolean = 1,  // One byte. Nobody has looked whether it is 0 or 1.
  i8 = 2,
  u8 = 3,
  i16 = 4,
  u16 = 5,
  i32 = 6,
  u32 = 7,
  i64 = 8,
  u64 = 9,
  f16 = 10,
  bf16 = 11,
  f32 = 12,
  f64 = 13,
  complex64 = 14,   // Two f32: real, imaginary.
  complex128 = 15,  // Two f64.
};

// Bytes of one element; 0 for a number that no dtype has.
std::size_t size_of(DType dtype);

inline constexpr std::size_t kMaxRank = 64;

// Elements in C order without gaps, little-endian. The bytes belong to whoever
// owns the buffer; a Tensor never copies them.
struct Tensor {
  DType dtype = DType::u8;
  std::vector<std::uint64_t> shape;  // Empty for a scalar.
  Buffer bytes;

  friend bool operator==(const Tensor& a, const Tensor& b);
};

// How many bytes such a tensor has. None if there is no such dtype, if there are
// more than kMaxRank dimensions, or if the dimensions that are not zero multiply
// to more than 63 bits of bytes, which some readers could not count.
std::optional<std::uint64_t> tensor_size(DType dtype, std::span<const std::uint64_t> shape);

// What the string of a document must be. Surrogates, overlong forms and code
// points above U+10FFFF are not.
bool is_utf8(std::string_view text);

// One entry of a map. A template only because Value is made of it, and it of Values.
template <class V>
struct MapEntry {
  V key;
  V value;

  friend bool operator==(const MapEntry&, const MapEntry&) = default;
};

// One that was moved from may only be assigned to or destroyed.
class Value {
 public:
  enum class Kind : std::uint8_t {
    nil,
    boolean,
    integer,
    unsigned_integer,  // Only above INT64_MAX: a number has one kind, whatever it was made of.
    real,
    string,
    bytes,
    list,
    map,
    tensor,
  };
  using Entry = MapEntry<Value>;
  using List = std::vector<Value>;
  // In the order of insertion; keys are of any kind and may come twice.
  using Map = std::vector<Entry>;

  Value() = default;
  Value(std::nullptr_t) {}
  Value(std::same_as<bool> auto truth) : content_(truth) {}
  Value(std::signed_integral auto number) : content_(std::int64_t{number}) {}
  // Not for bool, which is the closer match above.
  Value(std::unsigned_integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    if (std::in_range<std::int64_t>(number)) {
      content_.emplace<std::int64_t>(static_cast<std::int64_t>(number));
    } else {
      content_.emplace<std::uint64_t>(number);
    }
  }
  Value(std::floating_point auto number) : content_(static_cast<double>(number)) {}
  Value(const char* text) : content_(std::in_place_type<std::string>, text) {}
  Value(std::string_view text) : content_(std::in_place_type<std::string>, text) {}
  Value(std::string text) : content_(std::move(text)) {}
  Value(Buffer bytes) : content_(std::move(bytes)) {}
  Value(List list) : content_(std::move(list)) {}
  Value(Map map) : content_(std::move(map)) {}
  Value(Tensor tensor) : content_(std::make_shared<const Tensor>(std::move(tensor))) {}

  // Empties this and makes it a list or map of `count` nils, to be filled.
  List& make_list(std::size_t count) { return content_.emplace<List>(count); }
  Map& make_map(std::size_t count) { return content_.emplace<Map>(count); }

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  bool is_nil() const { return kind() == Kind::nil; }

  // Each gives nothing, or null, if this is of another kind.
  std::optional<bool> as_bool() const { return get<bool>(); }
  std::optional<std::int64_t> as_integer() const { return get<std::int64_t>(); }  // Where it fits.
  std::optional<std::uint64_t> as_unsigned() const {                              // Where it fits.
    if (const auto number = get<std::int64_t>(); number && *number >= 0) return *number;
    return get<std::uint64_t>();
  }
  std::optional<double> as_real() const {  // Of an integer too, rounded.
    if (const auto number = get<std::int64_t>()) return static_cast<double>(*number);
    if (const auto number = get<std::uint64_t>()) return static_cast<double>(*number);
    return get<double>();
  }
  const std::string* as_string() const { return std::get_if<std::string>(&content_); }
  const Buffer* as_bytes() const { return std::get_if<Buffer>(&content_); }
  const List* as_list() const { return std::get_if<List>(&content_); }
  List* as_list() { return std::get_if<List>(&content_); }
  const Map* as_map() const { return std::get_if<Map>(&content_); }
  Map* as_map() { return std::get_if<Map>(&content_); }
  const Tensor* as_tensor() const {
    const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&content_);
    return tensor != nullptr ? tensor->get() : nullptr;
  }

  // What a map has under `key`, the first if there are several; null if this is
  // no map or has no such key. Looks at one entry after the other.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);

  // Same kind, same content, maps in the same order. Reals are compared by their
  // bits: a NaN equals itself, and -0.0 is not 0.0.
  friend bool operator==(const Value& a, const Value& b);

 private:
  template <class T>
  std::optional<T> get() const {
    const T* content = std::get_if<T>(&content_);
    return content != nullptr ? std::optional<T>(*content) : std::nullopt;
  }

  // In the order of Kind. A tensor is shared, since it never changes, and small Values are fast.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Buffer, List,
               Map, std::shared_ptr<const Tensor>>
      content_;
};

}  // namespace muster::wire
