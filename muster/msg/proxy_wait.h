// How a proxy's blocking calls wait.

#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>
#include <utility>

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

// Calls `action` if its block is left by an exception, which is the user's own: nothing
// of ours throws. Not under the baton.
template <class Action>
class OnThrow {
 public:
  explicit OnThrow(Action action) : action_(std::move(action)) {}
  ~OnThrow() {
    if (std::uncaught_exceptions() > before_) action_();
  }
  OnThrow(const OnThrow&) = delete;
  OnThrow& operator=(const OnThrow&) = delete;

 private:
  Action action_;
  const int before_ = std::uncaught_exceptions();
};

// For what has not been done in time.
Error why_not(Waited waited, std::string_view attempt);

}  // namespace muster::msg::internal
