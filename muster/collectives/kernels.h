// Reducing and copying at the speed of memory. Pure functions on bytes.
//
// One pass over any number of sources, in tiles that stay in the first cache,
// by loops that the compiler vectorises, for the best instruction set that the
// processor has (chosen once, at the first call). Pointers need no alignment.
// No function throws or allocates; a user's function may.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "muster/collectives/element.h"
#include "muster/collectives/reduction.h"

namespace muster::collectives {

// How results are written. Streaming stores bypass the caches: they pay for
// what is larger than these and is not read again soon.
enum class Stores : std::uint8_t { cached, streaming };

// From so many bytes on, streaming stores were found to pay.
inline constexpr std::size_t kStreamingBytes = std::size_t{4} << 20;

// to[i] = sources[0][i] (op) sources[1][i] (op) ... from left to right, for
// `count` elements. `to` may be one of the sources, and is else apart from
// them. At least one source.
void combine(const Reduction& reduction, Element element, std::span<const std::byte* const> sources,
             std::byte* to, std::size_t count, Stores stores = Stores::cached);

// The same, finished as by finish() with `contributors`.
void combine_all(const Reduction& reduction, Element element,
                 std::span<const std::byte* const> sources, std::byte* to, std::size_t count,
                 std::size_t contributors, Stores stores = Stores::cached);

// What is left when all contributions are in (Reduction::has_finish()), in
// place: mean divides by `contributors`, logical ones become 0 or 1.
void finish(const Reduction& reduction, Element element, std::byte* to, std::size_t count,
            std::size_t contributors);

// Copies between ranges that are the same or apart.
void copy(const std::byte* from, std::byte* to, std::size_t bytes, Stores stores = Stores::cached);
// For what std::copy() would else be taken for: std::byte brings it along.
inline void copy(std::byte* from, std::byte* to, std::size_t bytes,
                 Stores stores = Stores::cached) {
  copy(static_cast<const std::byte*>(from), to, bytes, stores);
}

// The instruction set in use: "baseline", "avx2", "avx512".
const char* kernel_name();

}  // namespace muster::collectives
