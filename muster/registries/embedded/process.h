// Whether a process of this host runs, and a descriptor that tells its end.

#pragma once

#include "muster/base/descriptor.h"
#include "muster/base/result.h"

namespace muster::registries::embedded {

// Readable once the process has ended. Code::unavailable if it has already,
// reaped or not; another code if that cannot be known.
Result<Descriptor> open_process(int pid);

bool has_ended(int pid);

}  // namespace muster::registries::embedded
