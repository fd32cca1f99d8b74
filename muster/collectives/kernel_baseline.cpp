// For every processor that the build is for.
#include "muster/collectives/kernel_loops.h"

namespace muster::collectives::internal {

constexpr KernelTable kBaselineKernels = make_table("baseline");

}  // namespace muster::collectives::internal
