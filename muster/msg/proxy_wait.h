// How a proxy's blocking calls wait.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/msg/wait.h"

namespace muster::msg::internal {

enum class Waited : std::uint8_t { done, timeout, cancelled };

// Drives the loop until `done()`, as Loop::wait_until() does.
Waited wait_for(loop::Loop& loop, const Wait& wait, TimePoint deadline,
                const std::function<bool()>& done);
inline Waited wait_for(loop::Loop& loop, const Wait& wait, const std::function<bool()>& done) {
  return wait_for(loop, wait, wait.deadline_from([&] { return loop.now(); }), done);
}

// For what has not been done in time.
Error why_not(Waited waited, std::string_view attempt);

}  // namespace muster::msg::internal
