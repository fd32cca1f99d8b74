#include "muster/collectives/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "muster/collectives/kernel_table.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace muster::collectives {
namespace {

using internal::Fold;
using internal::KernelTable;

constexpr std::size_t kLine = 64;
constexpr std::size_t kTileBytes = 8192;
constexpr std::size_t kOwnCopy = 1024;     // Bytes from which on we copy ourselves.
constexpr std::size_t kMostStreamed = 64;  // Sources at a time; more are stored as usual.

const KernelTable& best_table() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
    return internal::kAvx2Kernels;
#endif
  return internal::kBaselineKernels;
}

const KernelTable& table() {
  static const KernelTable& best = best_table();
  return best;
}

// Streaming stores are not ordered with what follows; those who are told that
// the data is there must see it.
void order_streaming_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Bytes until `to` is at a cache line.
std::size_t to_line(const std::byte* to) {
  return (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
}

// Reduces `count` elements that begin `offset` bytes into each source.
void fold_part(Fold with, std::span<const std::byte* const> sources, std::size_t offset,
               std::byte* to, std::size_t count, std::size_t contributors) {
  std::array<const std::byte*, kMostStreamed> moved;
  for (std::size_t i = 0; i < sources.size(); ++i) moved[i] = sources[i] + offset;
  with(moved.data(), sources.size(), to, count, contributors);
}

void fold_streaming(Fold with, std::span<const std::byte* const> sources, std::size_t size,
                    std::byte* to, std::size_t count, std::size_t contributors) {
  std::size_t at = 0;
  if (const std::size_t head = to_line(to) / size; head > 0) {
    at = std::min(head, count);
    fold_part(with, sources, 0, to, at, contributors);
  }
  alignas(kLine) std::byte tile[kTileBytes];
  const std::size_t per_tile = kTileBytes / size;
  const std::size_t per_line = kLine / size;
  while (count - at >= per_line) {
    const std::size_t here = std::min((count - at) / per_line * per_line, per_tile);
    fold_part(with, sources, at * size, tile, here, contributors);
    table().stream(tile, to + at * size, here * size);
    at += here;
  }
  order_streaming_stores();
  fold_part(with, sources, at * size, to + at * size, count - at, contributors);
}

void combine_by_user(const UserFunction& function, std::size_t size,
                     std::span<const std::byte* const> sources, std::byte* to, std::size_t count) {
  if (sources.size() == 1) return copy(sources[0], to, count * size);
  // In pieces beside the result: `to` may be a source whose turn comes later.
  alignas(kLine) std::byte tile[kTileBytes];
  const std::size_t per_tile = kTileBytes / size;
  for (std::size_t at = 0; at < count; at += per_tile) {
    const std::size_t here = std::min(count - at, per_tile);
    const std::byte* sum = sources[0] + at * size;
    for (std::size_t i = 1; i < sources.size(); ++i) {
      const bool is_last = i + 1 == sources.size();
      std::byte* const into = is_last ? to + at * size : tile;
      function(sum, sources[i] + at * size, into, here);
      sum = tile;
    }
  }
}

// The kind whose loops do not finish.
std::size_t unfinished(Reduction::Kind kind) {
  return static_cast<std::size_t>(kind == Reduction::Kind::mean ? Reduction::Kind::sum : kind);
}

void fold(Fold with, std::size_t size, std::span<const std::byte* const> sources, std::byte* to,
          std::size_t count, std::size_t contributors, Stores stores) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(to) % size == 0;
  if (stores == Stores::streaming && is_aligned && sources.size() <= kMostStreamed) {
    return fold_streaming(with, sources, size, to, count, contributors);
  }
  with(sources.data(), sources.size(), to, count, contributors);
}

}  // namespace

void combine(const Reduction& reduction, Element element, std::span<const std::byte* const> sources,
             std::byte* to, std::size_t count, Stores stores) {
  const std::size_t size = size_of(element);
  if (reduction.kind() == Reduction::Kind::user) {
    return combine_by_user(reduction.function(), size, sources, to, count);
  }
  if (sources.size() == 1) return copy(sources[0], to, count * size, stores);
  const Fold with = table().fold[unfinished(reduction.kind())][static_cast<std::size_t>(element)];
  fold(with, size, sources, to, count, 1, stores);
}

void combine_all(const Reduction& reduction, Element element,
                 std::span<const std::byte* const> sources, std::byte* to, std::size_t count,
                 std::size_t contributors, Stores stores) {
  const bool is_folded = reduction.kind() != Reduction::Kind::user && sources.size() > 1;
  if (!is_folded && !reduction.has_finish()) {
    return combine(reduction, element, sources, to, count, stores);
  }
  const auto kind = static_cast<std::size_t>(reduction.kind());
  const Fold with = table().fold[kind][static_cast<std::size_t>(element)];
  fold(with, size_of(element), sources, to, count, contributors, stores);
}

void finish(const Reduction& reduction, Element element, std::byte* to, std::size_t count,
            std::size_t contributors) {
  if (!reduction.has_finish()) return;
  const auto kind = static_cast<std::size_t>(reduction.kind());
  table().finish[kind][static_cast<std::size_t>(element)](to, count, contributors);
}

void copy(const std::byte* from, std::byte* to, std::size_t bytes, Stores stores) {
  if (from == to || bytes == 0) return;
  if (bytes < kOwnCopy) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t head = to_line(to);
  const std::size_t lines = (bytes - head) / kLine * kLine;
  std::memcpy(to, from, head);
  if (stores == Stores::streaming) {
    table().stream(from + head, to + head, lines);
    order_streaming_stores();
  } else {
    table().copy(from + head, to + head, lines);
  }
  const std::size_t done = head + lines;
  std::memcpy(to + done, from + done, bytes - done);
}

const char* kernel_name() { return table().name; }

}  // namespace muster::collectives
