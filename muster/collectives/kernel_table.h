// The loops of one instruction set, as a table. Private to the kernels.
//
// The same source (kernel_loops.h) is compiled once for each set, and the best
// that the processor has is taken. It includes no standard function: the linker
// could else take one that was compiled for a newer processor into all others.

#pragma once

#include <cstddef>

namespace muster::collectives::internal {

inline constexpr std::size_t kKinds = 7;     // Of Reduction::Kind, without user.
inline constexpr std::size_t kElements = 8;  // Of Element.

// `to` may be one of the sources.
using Fold = void (*)(const std::byte* const* sources, std::size_t number, std::byte* to,
                      std::size_t count, std::size_t contributors);
using Finish = void (*)(std::byte* to, std::size_t count, std::size_t contributors);
// `to` is at a multiple of 64, `bytes` is one.
using Stream = void (*)(const std::byte* from, std::byte* to, std::size_t bytes);

struct KernelTable {
  const char* name = "";
  // [kind][element]. That of mean divides by `contributors`, logical ones give
  // 0 or 1 for one source too; others have nothing to finish.
  Fold fold[kKinds][kElements] = {};
  Finish finish[kKinds][kElements] = {};  // Null: nothing is to be done.
  Stream stream = nullptr;
};

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
#endif

}  // namespace muster::collectives::internal
