// Runs of f16 and bf16 to floats and back. Private to the kernels' loops:
// everything has internal linkage (kernel_table.h says why).

#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/collectives/half.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace muster::collectives::internal {
namespace {

// At any address.
struct __attribute__((packed, may_alias)) HalfAt {
  std::uint16_t bits;
};

#if defined(__AVX2__) && defined(__F16C__)
inline __m256 widen_eight(const HalfAt* from, F16 /*kind*/) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline __m256 widen_eight(const HalfAt* from, BF16 /*kind*/) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline __m128i narrow_eight(__m256 from, F16 /*kind*/) {
  return _mm256_cvtps_ph(from, _MM_FROUND_TO_NEAREST_INT);
}
// As narrow_bf16() does it.
inline __m128i narrow_eight(__m256 from, BF16 /*kind*/) {
  const __m256i bits = _mm256_castps_si256(from);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd), 16);
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(from, from, _CMP_UNORD_Q));
  const __m256i chosen = _mm256_blendv_epi8(rounded, quiet, is_nan);
  const __m256i packed = _mm256_packus_epi32(chosen, chosen);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0b1000));
}

template <class Half>
std::size_t widen_eights(const HalfAt* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, widen_eight(from + i, Half{}));
  return i;
}
template <class Half>
std::size_t narrow_eights(const float* from, HalfAt* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     narrow_eight(_mm256_loadu_ps(from + i), Half{}));
  }
  return i;
}
#else
template <class Half>
std::size_t widen_eights(const HalfAt* /*from*/, float* /*to*/, std::size_t /*count*/) {
  return 0;
}
template <class Half>
std::size_t narrow_eights(const float* /*from*/, HalfAt* /*to*/, std::size_t /*count*/) {
  return 0;
}
#endif

inline std::uint16_t narrow_bits(float value, F16 /*kind*/) { return narrow_f16(value).bits; }
inline std::uint16_t narrow_bits(float value, BF16 /*kind*/) { return narrow_bf16(value).bits; }

template <class Half>
void widen_run(const HalfAt* from, float* to, std::size_t count) {
  for (std::size_t i = widen_eights<Half>(from, to, count); i < count; ++i) {
    to[i] = widen(Half{from[i].bits});
  }
}

template <class Half>
void narrow_run(const float* from, HalfAt* to, std::size_t count) {
  for (std::size_t i = narrow_eights<Half>(from, to, count); i < count; ++i) {
    to[i].bits = narrow_bits(from[i], Half{});
  }
}

}  // namespace
}  // namespace muster::collectives::internal
