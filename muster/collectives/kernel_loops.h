// The loops. Included by one file per instruction set, compiled with its flags;
// everything has internal linkage (kernel_table.h says why).

#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/collectives/half_tiles.h"
#include "muster/collectives/kernel_table.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Elements do not depend on one another, also where `to` is one of the sources.
#if defined(__clang__)
#define MUSTER_EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define MUSTER_EACH _Pragma("GCC ivdep")
#endif

namespace muster::collectives::internal {
namespace {

// An element at any address.
template <class T>
struct __attribute__((packed, may_alias)) At {
  T value;
};

// What a mean is divided by. Quotients of small integers are exact as floats,
// cut off at the point.
template <class T>
struct Divisor {
  using Type = T;
};
template <>
struct Divisor<std::int8_t> {
  using Type = float;
};
template <>
struct Divisor<std::uint8_t> {
  using Type = float;
};
template <>
struct Divisor<std::int32_t> {
  using Type = double;
};

// Integers wrap around: computed without a sign.
template <class T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<std::int8_t> {
  using Type = std::uint8_t;
};
template <>
struct Wrapping<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct Wrapping<std::int64_t> {
  using Type = std::uint64_t;
};

struct NothingToFinish {
  static constexpr bool kFinishes = false;
  template <class T, class N>
  static T finish(T value, N /*contributors*/) {
    return value;
  }
};

struct Sum : NothingToFinish {
  template <class T>
  static T combine(T left, T right) {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(static_cast<U>(left) + static_cast<U>(right)));
  }
};

struct Product : NothingToFinish {
  template <class T>
  static T combine(T left, T right) {
    using U = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<U>(static_cast<U>(left) * static_cast<U>(right)));
  }
};

// A NaN on either side is the result: it is unequal to itself.
struct Min : NothingToFinish {
  template <class T>
  static T combine(T left, T right) {
    const T smaller = left < right ? left : right;
    return left != left ? left : smaller;
  }
};

struct Max : NothingToFinish {
  template <class T>
  static T combine(T left, T right) {
    const T larger = left > right ? left : right;
    return left != left ? left : larger;
  }
};

struct Mean : Sum {
  static constexpr bool kFinishes = true;
  template <class T, class N>
  static T finish(T value, N contributors) {
    return static_cast<T>(value / contributors);
  }
};

struct LogicalAnd {
  static constexpr bool kFinishes = true;
  template <class T>
  static T combine(T left, T right) {
    return static_cast<T>((left != T{0}) & (right != T{0}));
  }
  template <class T, class N>
  static T finish(T value, N /*contributors*/) {
    return static_cast<T>(value != T{0});
  }
};

struct LogicalOr {
  static constexpr bool kFinishes = true;
  template <class T>
  static T combine(T left, T right) {
    return static_cast<T>((left != T{0}) | (right != T{0}));
  }
  template <class T, class N>
  static T finish(T value, N /*contributors*/) {
    return static_cast<T>(value != T{0});
  }
};

// Of elements that are computed with as they are.
template <class T, class Op>
class Loops {
  using Count = typename Divisor<T>::Type;
  using Source = const At<T>*;
  static constexpr std::size_t kTile = 8192 / sizeof(T);

  static T load(const At<T>& at) { return at.value; }
  static void store(T value, At<T>& at, Count n) { at.value = Op::finish(value, n); }
  static T op(T left, T right) { return Op::combine(left, right); }
  static Source source(const std::byte* at) { return reinterpret_cast<Source>(at); }

  static void one(Source a, At<T>* to, std::size_t count, Count n) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) store(load(a[i]), to[i], n);
  }
  static void two(Source a, Source b, At<T>* to, std::size_t count, Count n) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) {
      store(op(load(a[i]), load(b[i])), to[i], n);
    }
  }
  static void three(Source a, Source b, Source c, At<T>* to, std::size_t count, Count n) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) {
      store(op(op(load(a[i]), load(b[i])), load(c[i])), to[i], n);
    }
  }
  static void four(Source a, Source b, Source c, Source d, At<T>* to, std::size_t count, Count n) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) {
      store(op(op(op(load(a[i]), load(b[i])), load(c[i])), load(d[i])), to[i], n);
    }
  }

  // More than four go by tiles, with the sum so far beside them in the first cache.
  static void begin(const std::byte* const* from, std::size_t at, T* sum, std::size_t count) {
    const Source a = source(from[0]) + at, b = source(from[1]) + at, c = source(from[2]) + at,
                 d = source(from[3]) + at;
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) {
      sum[i] = op(op(op(load(a[i]), load(b[i])), load(c[i])), load(d[i]));
    }
  }
  static void go_on(const std::byte* const* from, std::size_t at, T* sum, std::size_t count) {
    const Source a = source(from[0]) + at, b = source(from[1]) + at, c = source(from[2]) + at,
                 d = source(from[3]) + at;
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) {
      sum[i] = op(op(op(op(sum[i], load(a[i])), load(b[i])), load(c[i])), load(d[i]));
    }
  }
  static void add(Source a, T* sum, std::size_t count) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) sum[i] = op(sum[i], load(a[i]));
  }
  static void end(const T* sum, At<T>* to, std::size_t count, Count n) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) store(sum[i], to[i], n);
  }

  static void many(const std::byte* const* sources, std::size_t number, At<T>* to,
                   std::size_t count, Count n) {
    alignas(64) T sum[kTile];
    for (std::size_t at = 0; at < count; at += kTile) {
      const std::size_t here = count - at < kTile ? count - at : kTile;
      begin(sources, at, sum, here);
      std::size_t next = 4;
      for (; next + 4 <= number; next += 4) go_on(sources + next, at, sum, here);
      for (; next < number; ++next) add(source(sources[next]) + at, sum, here);
      end(sum, to + at, here, n);
    }
  }

 public:
  static void fold(const std::byte* const* s, std::size_t number, std::byte* to, std::size_t count,
                   std::size_t contributors) {
    auto* const out = reinterpret_cast<At<T>*>(to);
    const auto n = static_cast<Count>(contributors);
    switch (number) {
      case 1: return one(source(s[0]), out, count, n);
      case 2: return two(source(s[0]), source(s[1]), out, count, n);
      case 3: return three(source(s[0]), source(s[1]), source(s[2]), out, count, n);
      case 4: return four(source(s[0]), source(s[1]), source(s[2]), source(s[3]), out, count, n);
      default: return many(s, number, out, count, n);
    }
  }

  static void finish(std::byte* to, std::size_t count, std::size_t contributors) {
    auto* const at = reinterpret_cast<At<T>*>(to);
    one(at, at, count, static_cast<Count>(contributors));
  }
};

// Of halves, which are computed with as floats and rounded once at the end.
template <class Half, class Op>
class HalfLoops {
  static constexpr std::size_t kTile = 1024;

  static const HalfAt* run(const std::byte* of, std::size_t at) {
    return reinterpret_cast<const HalfAt*>(of) + at;
  }
  static void add(const float* more, float* sum, std::size_t count) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) sum[i] = Op::combine(sum[i], more[i]);
  }
  static void end(float* sum, std::size_t count, float n) {
    MUSTER_EACH for (std::size_t i = 0; i < count; ++i) sum[i] = Op::finish(sum[i], n);
  }

 public:
  static void fold(const std::byte* const* sources, std::size_t number, std::byte* to,
                   std::size_t count, std::size_t contributors) {
    alignas(64) float sum[kTile];
    alignas(64) float more[kTile];
    for (std::size_t at = 0; at < count; at += kTile) {
      const std::size_t here = count - at < kTile ? count - at : kTile;
      widen_run<Half>(run(sources[0], at), sum, here);
      for (std::size_t next = 1; next < number; ++next) {
        widen_run<Half>(run(sources[next], at), more, here);
        add(more, sum, here);
      }
      if (Op::kFinishes) end(sum, here, static_cast<float>(contributors));
      narrow_run<Half>(sum, reinterpret_cast<HalfAt*>(to) + at, here);
    }
  }

  static void finish(std::byte* to, std::size_t count, std::size_t contributors) {
    const std::byte* const source = to;
    fold(&source, 1, to, count, contributors);
  }
};

template <class Op>
class Loops<F16, Op> : public HalfLoops<F16, Op> {};
template <class Op>
class Loops<BF16, Op> : public HalfLoops<BF16, Op> {};

inline void stream(const std::byte* from, std::byte* to, std::size_t bytes) {
#if defined(__AVX__)
  for (std::size_t i = 0; i < bytes; i += 64) {
    const auto* const source = reinterpret_cast<const __m256i*>(from + i);
    auto* const out = reinterpret_cast<__m256i*>(to + i);
    const __m256i first = _mm256_loadu_si256(source);
    const __m256i second = _mm256_loadu_si256(source + 1);
    _mm256_stream_si256(out, first);
    _mm256_stream_si256(out + 1, second);
  }
#elif defined(__SSE2__)
  for (std::size_t i = 0; i < bytes; i += 64) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + i);
    auto* const out = reinterpret_cast<__m128i*>(to + i);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(out + k, _mm_loadu_si128(source + k));
  }
#else
  __builtin_memcpy(to, from, bytes);
#endif
}

template <class T, class Op>
constexpr void enter(KernelTable& table, std::size_t kind, std::size_t element) {
  table.fold[kind][element] = &Loops<T, Op>::fold;
  if (Op::kFinishes) table.finish[kind][element] = &Loops<T, Op>::finish;
}

template <class Op>
constexpr void enter_all(KernelTable& table, std::size_t kind) {
  enter<std::int8_t, Op>(table, kind, 0);
  enter<std::uint8_t, Op>(table, kind, 1);
  enter<std::int32_t, Op>(table, kind, 2);
  enter<std::int64_t, Op>(table, kind, 3);
  enter<F16, Op>(table, kind, 4);
  enter<BF16, Op>(table, kind, 5);
  enter<float, Op>(table, kind, 6);
  enter<double, Op>(table, kind, 7);
}

// In the order of Reduction::Kind and of Element.
constexpr KernelTable make_table(const char* name) {
  KernelTable table;
  table.name = name;
  enter_all<Sum>(table, 0);
  enter_all<Product>(table, 1);
  enter_all<Min>(table, 2);
  enter_all<Max>(table, 3);
  enter_all<Mean>(table, 4);
  enter_all<LogicalAnd>(table, 5);
  enter_all<LogicalOr>(table, 6);
  table.stream = &stream;
  return table;
}

}  // namespace
}  // namespace muster::collectives::internal

#undef MUSTER_EACH
