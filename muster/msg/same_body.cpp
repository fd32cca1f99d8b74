#include "muster/msg/same_body.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>

namespace muster::msg {
namespace {

using wire::Value;

constexpr std::size_t kCheap = 4096;

bool is_same(const Buffer& a, const Buffer& b) {
  if (a.size() != b.size()) return false;
  return a.data() == b.data() || (a.size() <= kCheap && a.text() == b.text());
}

bool is_same(const Value::Entry& a, const Value::Entry& b) {
  return is_same_body(a.key, b.key) && is_same_body(a.value, b.value);
}

// Mixes well: xor and multiplication by an odd number, as splitmix64 does.
std::size_t mix(std::size_t hash, std::uint64_t more) {
  hash ^= more + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xBF58476D1CE4E5B9ULL;
}

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

std::size_t hash_of(const Buffer& bytes) {
  if (bytes.size() <= kCheap) return hash_of(bytes.text());
  return mix(bytes.size(), std::bit_cast<std::uintptr_t>(bytes.data()));
}

// The same for all that is_same_body().
std::size_t hash_of(const Value& body) {
  std::size_t hash = static_cast<std::size_t>(body.kind());
  switch (body.kind()) {
    case Value::Kind::nil: return hash;
    case Value::Kind::boolean: return mix(hash, *body.as_bool() ? 1 : 0);
    case Value::Kind::integer: return mix(hash, static_cast<std::uint64_t>(*body.as_integer()));
    case Value::Kind::unsigned_integer: return mix(hash, *body.as_unsigned());
    case Value::Kind::real: return mix(hash, std::bit_cast<std::uint64_t>(*body.as_real()));
    case Value::Kind::string: return mix(hash, hash_of(std::string_view(*body.as_string())));
    case Value::Kind::bytes: return mix(hash, hash_of(*body.as_bytes()));
    case Value::Kind::tensor: return mix(hash, hash_of(body.as_tensor()->bytes));
    case Value::Kind::list:
      for (const Value& one : *body.as_list()) hash = mix(hash, hash_of(one));
      return hash;
    case Value::Kind::map:
      for (const auto& [key, value] : *body.as_map()) {
        hash = mix(mix(hash, hash_of(key)), hash_of(value));
      }
      return hash;
  }
  return hash;
}

}  // namespace

std::size_t BodyIndex::first_like(const Value& body) {
  const std::size_t hash = hash_of(body);
  const std::size_t number = count_++;
  const auto [begin, end] = known_.equal_range(hash);
  const auto found = std::find_if(
      begin, end, [&](const auto& known) { return is_same_body(*known.second.body, body); });
  if (found != end) return found->second.number;
  known_.emplace(hash, Known{&body, number});
  return number;
}

bool is_same_body(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.as_bytes() != nullptr) return is_same(*a.as_bytes(), *b.as_bytes());
  if (const wire::Tensor* tensor = a.as_tensor()) {
    const wire::Tensor* other = b.as_tensor();
    return tensor->dtype == other->dtype && tensor->shape == other->shape &&
           is_same(tensor->bytes, other->bytes);
  }
  if (const Value::List* list = a.as_list()) {
    return std::ranges::equal(*list, *b.as_list(), is_same_body);
  }
  if (const Value::Map* map = a.as_map()) {
    return std::ranges::equal(*map, *b.as_map(),
                              [](const auto& x, const auto& y) { return is_same(x, y); });
  }
  return a == b;
}

}  // namespace muster::msg
