#include "muster/drivers/shm/streaming_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "muster/base/processors.h"

namespace muster::drivers::shm {

#if defined(__x86_64__)
namespace {

__attribute__((target("avx2"))) void stream_avx2(std::byte* to, const std::byte* from,
                                                 std::size_t size) {
  for (std::size_t at = 0; at + 128 <= size; at += 128) {
    const auto* source = reinterpret_cast<const __m256i*>(from + at);
    auto* target = reinterpret_cast<__m256i*>(to + at);
    const __m256i a = _mm256_loadu_si256(source);
    const __m256i b = _mm256_loadu_si256(source + 1);
    const __m256i c = _mm256_loadu_si256(source + 2);
    const __m256i d = _mm256_loadu_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
  // Streaming stores are not ordered with others until this.
  _mm_sfence();
}

}  // namespace
#endif

bool streaming_pays() {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  return kHasAvx2 && processor_maker() == ProcessorMaker::intel;
#else
  return false;
#endif
}

void streaming_copy(std::byte* to, const std::byte* from, std::size_t size) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kHasAvx2 && size >= 4096) {
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % 32;
    const std::size_t lead = misaligned == 0 ? 0 : 32 - misaligned;
    std::memcpy(to, from, lead);
    const std::size_t body = (size - lead) / 128 * 128;
    stream_avx2(to + lead, from + lead, body);
    std::memcpy(to + lead + body, from + lead + body, size - lead - body);
    return;
  }
#endif
  std::memcpy(to, from, size);
}

}  // namespace muster::drivers::shm
