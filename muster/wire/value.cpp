#include "muster/wire/value.h"

#include <algorithm>
#include <cstring>

#include "muster/wire/bytes.h"

namespace muster::wire {
namespace {

// Set where one of eight bytes is not ASCII.
constexpr std::uint64_t kHighBits = 0x8080808080808080;

bool same_bytes(const Buffer& a, const Buffer& b) {
  if (a.size() != b.size()) return false;
  // An empty buffer may have no address, which memcmp() must not be given.
  return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// How many bytes the sequence takes that begins at `at`; 0 if there is none.
// The second byte's bounds keep out overlong forms, surrogates and what lies
// above U+10FFFF (Unicode, table 3-7).
std::size_t utf8_sequence(const unsigned char* at, const unsigned char* end) {
  const auto follows = [&](int i, unsigned char low, unsigned char high) {
    return end - at > i && at[i] >= low && at[i] <= high;
  };
  const unsigned char first = at[0];
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned char low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const unsigned char low = first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xF4 ? 0x8F : 0xBF;
  return follows(1, low, high) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
}

}  // namespace

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::i8:
    case DType::u8: return 1;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i32:
    case DType::u32:
    case DType::f32: return 4;
    case DType::i64:
    case DType::u64:
    case DType::f64:
    case DType::complex64: return 8;
    case DType::complex128: return 16;
  }
  return 0;
}

bool operator==(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && same_bytes(a.bytes, b.bytes);
}

std::optional<std::uint64_t> tensor_size(DType dtype, std::span<const std::uint64_t> shape) {
  std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
  if (size == 0 || shape.size() > kMaxRank) return std::nullopt;
  bool empty = false;
  for (const std::uint64_t count : shape) {
    // A zero does not hide the others: {2^40, 2^40, 0} is refused in any order.
    if (count == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(size, count, &size)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(size);
}

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  while (at != end) {
    if (end - at >= 8 &&
        (load<std::uint64_t>(reinterpret_cast<const std::byte*>(at)) & kHighBits) == 0) {
      at += 8;
      continue;
    }
    const std::size_t size = utf8_sequence(at, end);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

const Value* Value::find(std::string_view key) const {
  const Map* map = as_map();
  if (map == nullptr) return nullptr;
  const auto entry = std::ranges::find_if(*map, [key](const Entry& candidate) {
    const std::string* name = candidate.key.as_string();
    return name != nullptr && *name == key;
  });
  return entry != map->end() ? &entry->value : nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::real:
      return std::bit_cast<std::uint64_t>(*a.as_real()) ==
             std::bit_cast<std::uint64_t>(*b.as_real());
    case Value::Kind::bytes: return same_bytes(*a.as_bytes(), *b.as_bytes());
    case Value::Kind::list: return *a.as_list() == *b.as_list();
    case Value::Kind::map: return *a.as_map() == *b.as_map();
    case Value::Kind::tensor: return *a.as_tensor() == *b.as_tensor();
    case Value::Kind::string: return *a.as_string() == *b.as_string();
    case Value::Kind::nil: return true;
    case Value::Kind::boolean: return a.as_bool() == b.as_bool();
    case Value::Kind::integer: return a.as_integer() == b.as_integer();
    case Value::Kind::unsigned_integer: return a.as_unsigned() == b.as_unsigned();
  }
  return false;
}

}  // namespace muster::wire
