#include "tests/collectives/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "muster/base/check.h"
#include "muster/collectives/half.h"

namespace muster::tests {
namespace {

using collectives::BF16;
using collectives::F16;

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void store(Element element, std::byte* to, double value) {
  switch (element) {
    case Element::i8: return put(to, static_cast<std::int8_t>(value));
    case Element::u8: return put(to, static_cast<std::uint8_t>(value));
    case Element::i32: return put(to, static_cast<std::int32_t>(value));
    case Element::i64: return put(to, static_cast<std::int64_t>(value));
    case Element::f16: return put(to, collectives::narrow_f16(static_cast<float>(value)));
    case Element::bf16: return put(to, collectives::narrow_bf16(static_cast<float>(value)));
    case Element::f32: return put(to, static_cast<float>(value));
    case Element::f64: return put(to, value);
  }
}

double load(Element element, const std::byte* from) {
  switch (element) {
    case Element::i8: return get<std::int8_t>(from);
    case Element::u8: return get<std::uint8_t>(from);
    case Element::i32: return get<std::int32_t>(from);
    case Element::i64: return static_cast<double>(get<std::int64_t>(from));
    case Element::f16: return collectives::widen(get<F16>(from));
    case Element::bf16: return collectives::widen(get<BF16>(from));
    case Element::f32: return get<float>(from);
    case Element::f64: return get<double>(from);
  }
  return 0;
}

// 2 * turns + reflections.
double compose(double left, double right) {
  const int a = static_cast<int>(left);
  const int b = static_cast<int>(right);
  const int turns = (a / 2 + (a % 2 == 0 ? b / 2 : 3 - b / 2)) % 3;
  return 2 * turns + (a + b) % 2;
}

}  // namespace

Reduction reduction_of(Reduction::Kind kind, Element element, bool is_ordered) {
  if (kind != Reduction::Kind::user) return kind;
  return Reduction::user(
      [=](const void* left, const void* right, void* to, std::size_t count) {
        for (std::size_t i = 0; i < count * size_of(element); i += size_of(element)) {
          const double a = load(element, static_cast<const std::byte*>(left) + i);
          const double b = load(element, static_cast<const std::byte*>(right) + i);
          store(element, static_cast<std::byte*>(to) + i, is_ordered ? compose(a, b) : a + b);
        }
      },
      is_ordered ? Reduction::Order::of_ranks : Reduction::Order::any);
}

// At most two ranks of nine have a 2 at one place: products stay small.
double number_of(Rank rank, std::uint64_t index) {
  const std::uint64_t mixed = index * 7 + rank;
  return mixed % 5 == 0 ? 2.0 : (mixed % 11 == 3 ? 0.0 : 1.0);
}

Numbers::Numbers(Element element, std::uint64_t count, const Value& value,
                 collectives::Communicator* arena)
    : element_(element), count_(count) {
  const std::size_t size = count * size_of(element);
  if (arena != nullptr && size > 0) {
    auto memory = arena->allocate(size);
    MUSTER_CHECK(memory.has_value(), "there is room in the arena");
    shared_ = *std::move(memory);
    data_ = shared_.data();
  } else {
    bytes_.resize(size);
    data_ = bytes_.data();
  }
  for (std::uint64_t i = 0; i < count; ++i) store(element, data_ + i * size_of(element), value(i));
}

collectives::Output Numbers::part(std::uint64_t offset, std::uint64_t count) {
  return {data_ + offset * size_of(element_), count, element_};
}

double Numbers::operator[](std::uint64_t index) const {
  return load(element_, data_ + index * size_of(element_));
}

double reduced(const Reduction& reduction, Element element, Rank ranks, std::uint64_t index) {
  using Kind = Reduction::Kind;
  const Kind kind = reduction.kind();
  double value = number_of(0, index);
  if (kind == Kind::logical_and || kind == Kind::logical_or) value = value != 0 ? 1 : 0;
  for (Rank rank = 1; rank < ranks; ++rank) {
    const double next = number_of(rank, index);
    switch (kind) {
      case Kind::sum:
      case Kind::mean: value += next; break;
      case Kind::user:
        value = reduction.is_commutative() ? value + next : compose(value, next);
        break;
      case Kind::product: value *= next; break;
      case Kind::min: value = std::min(value, next); break;
      case Kind::max: value = std::max(value, next); break;
      case Kind::logical_and: value = value != 0 && next != 0 ? 1 : 0; break;
      case Kind::logical_or: value = value != 0 || next != 0 ? 1 : 0; break;
    }
  }
  if (kind != Kind::mean) return value;
  value /= ranks;
  const bool is_whole = element == Element::i8 || element == Element::u8 ||
                        element == Element::i32 || element == Element::i64;
  if (is_whole) return std::trunc(value);
  std::vector<std::byte> rounded(size_of(element));
  store(element, rounded.data(), value);
  return load(element, rounded.data());
}

}  // namespace muster::tests
