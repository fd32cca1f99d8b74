// What a component's process ends with, for whoever started it.
//
//   int main() { return muster::exit_code(run()); }
//
// The library never ends a process; these are for main() to return.

#pragma once

#include "muster/base/result.h"

namespace muster {

inline constexpr int kExitDone = 0;
// It failed as anything may fail: to start it again may help.
inline constexpr int kExitFailed = 1;
// It would fail again: do not start it again.
inline constexpr int kExitForGood = 64;
// The job cannot go on without what is missing: end all of it.
inline constexpr int kExitJob = 65;

// kExitDone also for what was cancelled; kExitForGood where the code says that to
// try again cannot help. Proxy::exit_code() knows of kExitJob.
int exit_code(const Error& error);
int exit_code(const Status& status);

}  // namespace muster
