// The process-wide runtime: the one global of the package. Made when the first
// proxy or the first array in the arena is, and anew in a forked child.

#pragma once

#include <atomic>
#include <memory>

#include "binding.h"
#include "muster/runtime/runtime.h"

namespace muster::python {

// Needs the lock.
Runtime& runtime();

// Made with the lock, let go by any thread. While one lives, the runtime stays, even past the
// interpreter's end: for what holds its loop or registry, and calls that use it without the lock.
class RuntimeUse {
 public:
  RuntimeUse();
  ~RuntimeUse();
  RuntimeUse(const RuntimeUse&) = delete;
  RuntimeUse& operator=(const RuntimeUse&) = delete;

 private:
  std::shared_ptr<std::atomic<int>> uses_;
};

void bind_process(nanobind::module_& module);

}  // namespace muster::python
