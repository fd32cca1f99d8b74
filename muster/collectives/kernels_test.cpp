#include "muster/collectives/kernels.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "muster/collectives/half.h"
#include "muster/collectives/kernel_table.h"

namespace muster::collectives {
namespace {

using Kind = Reduction::Kind;

constexpr Kind kKinds[] = {Kind::sum,  Kind::product,     Kind::min,       Kind::max,
                           Kind::mean, Kind::logical_and, Kind::logical_or};

// ---- A naive oracle: one element after the other, in the widest type.

template <class T>
struct Naive {
  using Wide = T;
  static Wide load(T value) { return value; }
  static T store(Wide value) { return value; }
};
template <>
struct Naive<F16> {
  using Wide = float;
  static float load(F16 half) {
    const int exponent = half.bits >> 10 & 31;
    const int fraction = half.bits & 1023;
    const float sign = (half.bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  // The nearest of all halves; of two as near the even one.
  static F16 store(float value) {
    if (std::isnan(value)) return {0x7E00};
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double size = std::fabs(static_cast<double>(value));
    if (size >= 65520) return {static_cast<std::uint16_t>(sign | 0x7C00)};
    const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
    const double units = std::nearbyint(std::ldexp(size, 10 - exponent));
    const auto bits =
        static_cast<std::uint32_t>(units) + (static_cast<std::uint32_t>(exponent + 14) << 10);
    return {static_cast<std::uint16_t>(sign | bits)};
  }
};
template <>
struct Naive<BF16> {
  using Wide = float;
  static float load(BF16 value) {
    const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
    float found;
    std::memcpy(&found, &bits, sizeof(found));
    return found;
  }
  static BF16 store(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (std::isnan(value)) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
    const std::uint32_t rest = bits & 0xFFFF;
    std::uint32_t high = bits >> 16;
    if (rest > 0x8000 || (rest == 0x8000 && high % 2 == 1)) ++high;
    return {static_cast<std::uint16_t>(high)};
  }
};

template <class W>
W naive_combine(Kind kind, W left, W right) {
  constexpr bool is_float = std::is_floating_point_v<W>;
  switch (kind) {
    case Kind::sum:
    case Kind::mean:
      if constexpr (is_float)
        return left + right;
      else
        return static_cast<W>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
    case Kind::product:
      if constexpr (is_float)
        return left * right;
      else
        return static_cast<W>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
    case Kind::min:
    case Kind::max:
      if constexpr (is_float) {
        if (std::isnan(left)) return left;
        if (std::isnan(right)) return right;
      }
      return kind == Kind::min ? std::min(left, right) : std::max(left, right);
    case Kind::logical_and: return static_cast<W>(left != W{0} && right != W{0});
    default: return static_cast<W>(left != W{0} || right != W{0});
  }
}

template <class W>
W naive_finish(Kind kind, W value, std::size_t contributors) {
  if (kind == Kind::logical_and || kind == Kind::logical_or) return static_cast<W>(value != W{0});
  if (kind != Kind::mean) return value;
  if constexpr (std::is_floating_point_v<W>)
    return value / static_cast<W>(contributors);
  else
    return static_cast<W>(static_cast<std::int64_t>(value) /
                          static_cast<std::int64_t>(contributors));
}

// ---- Values: mostly small, some of the extremes.

template <class T>
T some_value(std::mt19937_64& random) {
  using Wide = typename Naive<T>::Wide;
  const auto drawn = random();
  if constexpr (std::is_floating_point_v<Wide>) {
    if (drawn % 64 == 0) return Naive<T>::store(std::numeric_limits<Wide>::quiet_NaN());
    if (drawn % 64 == 1) return Naive<T>::store(-std::numeric_limits<Wide>::infinity());
    if (drawn % 8 == 2) return Naive<T>::store(0);
    return Naive<T>::store(static_cast<Wide>(static_cast<int>(drawn >> 20 & 0xFFF) - 2048) / 37);
  } else {
    return drawn % 8 == 2 ? T{0} : static_cast<T>(drawn >> 8);
  }
}

template <class T>
bool is_same(T left, T right) {
  const auto a = Naive<T>::load(left);
  const auto b = Naive<T>::load(right);
  return a == b || (a != a && b != b);
}

// Bytes at an address of a given rest by 64.
template <class T>
class Placed {
 public:
  Placed(std::size_t count, std::size_t rest) : bytes_(count * sizeof(T) + 192), count_(count) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = bytes_.data() + (64 - at % 64) + rest;
    std::memset(begin_ - 8, 0x5A, 8);
    std::memset(end(), 0x5A, 8);
  }
  std::byte* begin() { return begin_; }
  std::byte* end() { return begin_ + count_ * sizeof(T); }
  T get(std::size_t i) const {
    T value;
    std::memcpy(&value, begin_ + i * sizeof(T), sizeof(T));
    return value;
  }
  void set(std::size_t i, T value) { std::memcpy(begin_ + i * sizeof(T), &value, sizeof(T)); }
  bool is_intact() {
    const std::byte guard[8] = {std::byte{0x5A}, std::byte{0x5A}, std::byte{0x5A}, std::byte{0x5A},
                                std::byte{0x5A}, std::byte{0x5A}, std::byte{0x5A}, std::byte{0x5A}};
    return std::memcmp(begin_ - 8, guard, 8) == 0 && std::memcmp(end(), guard, 8) == 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_;
  std::byte* begin_;
};

struct Trial {
  Kind kind;
  std::size_t sources;
  std::size_t count;
  std::size_t rest;  // Of the addresses by 64.
  bool is_final;
  bool in_place;
  Stores stores;
};

template <class T>
void try_one(const Trial& trial, std::mt19937_64& random) {
  using Wide = typename Naive<T>::Wide;
  std::vector<Placed<T>> inputs;
  std::vector<const std::byte*> sources;
  for (std::size_t k = 0; k < trial.sources; ++k) {
    Placed<T>& input = inputs.emplace_back(trial.count, (trial.rest + k * sizeof(T)) % 64);
    for (std::size_t i = 0; i < trial.count; ++i) input.set(i, some_value<T>(random));
    sources.push_back(input.begin());
  }
  std::vector<T> wanted;
  for (std::size_t i = 0; i < trial.count; ++i) {
    Wide sum = Naive<T>::load(inputs[0].get(i));
    for (std::size_t k = 1; k < trial.sources; ++k) {
      sum = naive_combine(trial.kind, sum, Naive<T>::load(inputs[k].get(i)));
    }
    if (trial.is_final) sum = naive_finish(trial.kind, sum, trial.sources);
    wanted.push_back(Naive<T>::store(sum));
  }
  Placed<T> apart(trial.count, trial.rest);
  Placed<T>& to = trial.in_place ? inputs.back() : apart;
  trial.is_final
      ? combine_all(trial.kind, element_of<T>, sources, to.begin(), trial.count, trial.sources,
                    trial.stores)
      : combine(trial.kind, element_of<T>, sources, to.begin(), trial.count, trial.stores);
  ASSERT_TRUE(to.is_intact());
  for (std::size_t i = 0; i < trial.count; ++i) {
    ASSERT_TRUE(is_same(to.get(i), wanted[i]))
        << name(trial.kind) << " of " << name(element_of<T>) << ", " << trial.sources
        << " sources, element " << i << " of " << trial.count << ", rest " << trial.rest
        << ", final " << trial.is_final << ", in place " << trial.in_place;
  }
}

template <class T>
class KernelsOf : public ::testing::Test {};
using ElementTypes = ::testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::int64_t, F16,
                                      BF16, float, double>;
TYPED_TEST_SUITE(KernelsOf, ElementTypes);

TYPED_TEST(KernelsOf, CombineAsPlainLoopsDoForAllReductionsLengthsAndAlignments) {
  std::mt19937_64 random(7);
  for (const Kind kind : kKinds) {
    for (const std::size_t sources : {1, 2, 3, 4, 5, 8, 9}) {
      for (const std::size_t count : {0, 1, 7, 31, 64, 129, 1025, 2311}) {
        const auto drawn = random();
        Trial trial{
            kind,          sources, count, drawn % 64, (drawn >> 8) % 2 == 0, (drawn >> 9) % 2 == 0,
            Stores::cached};
        try_one<TypeParam>(trial, random);
        trial.stores = Stores::streaming;
        trial.rest = trial.rest / sizeof(TypeParam) * sizeof(TypeParam);
        try_one<TypeParam>(trial, random);
      }
    }
  }
}

TYPED_TEST(KernelsOf, FinishAsPlainLoopsDo) {
  using Wide = typename Naive<TypeParam>::Wide;
  std::mt19937_64 random(9);
  for (const Kind kind : kKinds) {
    Placed<TypeParam> values(333, 3);
    std::vector<TypeParam> wanted;
    for (std::size_t i = 0; i < 333; ++i) {
      values.set(i, some_value<TypeParam>(random));
      const Wide value = Naive<TypeParam>::load(values.get(i));
      wanted.push_back(Naive<TypeParam>::store(naive_finish(kind, value, 5)));
    }
    finish(kind, element_of<TypeParam>, values.begin(), 333, 5);
    for (std::size_t i = 0; i < 333; ++i) ASSERT_TRUE(is_same(values.get(i), wanted[i]));
  }
}

TEST(Half, WidensEveryF16AndBf16) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const F16 half{static_cast<std::uint16_t>(bits)};
    const float wide = widen(half);
    ASSERT_EQ(std::isnan(wide), std::isnan(Naive<F16>::load(half))) << bits;
    if (!std::isnan(wide)) {
      ASSERT_EQ(wide, Naive<F16>::load(half)) << bits;
      ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << bits;
      ASSERT_EQ(narrow_f16(wide), half) << bits;
    }
    const BF16 brain{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(widen(brain))) {
      ASSERT_EQ(narrow_bf16(widen(brain)), brain) << bits;
    }
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  std::mt19937 random(3);
  for (int i = 0; i < 300'000; ++i) {
    // Around the halves: a half, its neighbour, and what lies between and beside.
    const auto bits = static_cast<std::uint32_t>(random());
    const float value = float_of_bits(i % 2 == 0 ? bits : (bits & 0xFFFFF000) ^ (random() % 3));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(widen(narrow_f16(value))));
      ASSERT_TRUE(std::isnan(widen(narrow_bf16(value))));
      continue;
    }
    ASSERT_EQ(narrow_f16(value), Naive<F16>::store(value)) << value;
    ASSERT_EQ(narrow_bf16(value), Naive<BF16>::store(value)) << value;
  }
}

TEST(Kernels, KeepTheMeanOfHalvesThatWouldOverflowAsASum) {
  const std::vector<F16> big(10, narrow_f16(60000.0F));
  std::vector<const std::byte*> sources(4, reinterpret_cast<const std::byte*>(big.data()));
  std::vector<F16> to(10);
  combine_all(Reduction::mean, Element::f16, sources, reinterpret_cast<std::byte*>(to.data()), 10,
              4);
  EXPECT_EQ(to, big);
}

TEST(Kernels, CallAUsersFunctionInTheOrderOfTheSources) {
  // left * 10 + right, which shows the order.
  const Reduction digits = Reduction::user(
      [](const void* left, const void* right, void* to, std::size_t count) {
        const auto* a = static_cast<const std::int64_t*>(left);
        const auto* b = static_cast<const std::int64_t*>(right);
        for (std::size_t i = 0; i < count; ++i)
          static_cast<std::int64_t*>(to)[i] = a[i] * 10 + b[i];
      },
      Reduction::Order::of_ranks);
  std::vector<std::vector<std::int64_t>> inputs;
  std::vector<const std::byte*> sources;
  for (std::int64_t k = 1; k <= 5; ++k) inputs.emplace_back(5000, k);
  for (const auto& input : inputs)
    sources.push_back(reinterpret_cast<const std::byte*>(input.data()));
  combine(digits, Element::i64, sources, reinterpret_cast<std::byte*>(inputs[2].data()), 5000);
  EXPECT_EQ(inputs[2], std::vector<std::int64_t>(5000, 12345));
}

TEST(Kernels, CopyAnyBytesToAnyAddress) {
  std::mt19937_64 random(5);
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 4096, 100'001}) {
    for (const std::size_t rest : {0, 1, 17, 63}) {
      for (const Stores stores : {Stores::cached, Stores::streaming}) {
        Placed<std::uint8_t> from(bytes, 63 - rest);
        Placed<std::uint8_t> to(bytes, rest);
        for (std::size_t i = 0; i < bytes; ++i) from.set(i, static_cast<std::uint8_t>(random()));
        copy(from.begin(), to.begin(), bytes, stores);
        ASSERT_EQ(std::memcmp(from.begin(), to.begin(), bytes), 0);
        ASSERT_TRUE(to.is_intact());
      }
    }
  }
}

#if defined(__x86_64__)
TEST(Kernels, GiveTheSameBitsWithEveryInstructionSet) {
  if (!__builtin_cpu_supports("avx2")) return;
  std::mt19937_64 random(11);
  std::vector<std::vector<float>> inputs(6, std::vector<float>(1111));
  std::vector<const std::byte*> sources;
  for (auto& input : inputs) {
    for (float& value : input) value = static_cast<float>(random()) / 1e9F;
    sources.push_back(reinterpret_cast<const std::byte*>(input.data()));
  }
  for (std::size_t kind = 0; kind < internal::kKinds; ++kind) {
    std::vector<float> slow(1111), fast(1111);
    const auto element = static_cast<std::size_t>(Element::f32);
    internal::kBaselineKernels.fold[kind][element](
        sources.data(), 6, reinterpret_cast<std::byte*>(slow.data()), 1111, 6);
    internal::kAvx2Kernels.fold[kind][element](sources.data(), 6,
                                               reinterpret_cast<std::byte*>(fast.data()), 1111, 6);
    ASSERT_EQ(slow, fast);
  }
}
#endif

}  // namespace
}  // namespace muster::collectives
