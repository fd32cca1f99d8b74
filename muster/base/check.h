// MUSTER_CHECK: for what cannot be, unless muster itself has a bug.

#pragma once

#include <string_view>

namespace muster {

// Logs where and why, then aborts: going on would corrupt what others rely on.
[[noreturn, gnu::cold]] void check_failed(std::string_view file, int line, std::string_view why);

}  // namespace muster

// In release builds too. Never for anything that a peer or a user can cause.
#define MUSTER_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::muster::check_failed(__FILE__, __LINE__, why))
