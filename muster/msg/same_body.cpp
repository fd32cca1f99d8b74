#include "muster/msg/same_body.h"

#include <algorithm>

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

}  // namespace

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
