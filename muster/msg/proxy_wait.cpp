#include "muster/msg/proxy_wait.h"

#include <algorithm>
#include <string>

namespace muster::msg::internal {
namespace {

Waited wait_unasked(loop::Loop& loop, const Wait& wait, TimePoint deadline,
                    const std::function<bool()>& done) {
  const std::stop_token& stop = wait.stop();
  if (!stop.stop_possible()) {
    return loop.wait_until(done, deadline) ? Waited::done : Waited::timeout;
  }
  // A task that does nothing has all who wait look again.
  const std::stop_callback wake(stop, [&loop] { loop.post([] {}); });
  bool is_done = false;
  const bool is_over = loop.wait_until(
      [&] {
        is_done = is_done || done();
        return is_done || stop.stop_requested();
      },
      deadline);
  if (is_done) return Waited::done;
  return is_over ? Waited::cancelled : Waited::timeout;
}

}  // namespace

Waited wait_for(loop::Loop& loop, const Wait& wait, TimePoint deadline,
                const std::function<bool()>& done) {
  if (wait.check() == nullptr) return wait_unasked(loop, wait, deadline, done);
  for (;;) {
    const TimePoint next = std::min(deadline, loop.now() + Wait::kCheckEvery);
    const Waited waited = wait_unasked(loop, wait, next, done);
    if (waited != Waited::timeout || next == deadline) return waited;
    if (wait.check()()) return Waited::cancelled;
  }
}

Error why_not(Waited waited, std::string_view attempt) {
  const Error why = waited == Waited::cancelled ? Error(Code::cancelled, "the caller asked to stop")
                                                : Error(Code::timeout, "the deadline passed");
  return why.during(attempt);
}

}  // namespace muster::msg::internal
