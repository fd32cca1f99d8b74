// For x86 processors with AVX2 and F16C: compiled with its flags, and called only there.
#include "muster/collectives/kernel_loops.h"

#if defined(__AVX2__)
namespace muster::collectives::internal {

constexpr KernelTable kAvx2Kernels = make_table("avx2");

}  // namespace muster::collectives::internal
#endif
