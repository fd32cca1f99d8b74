#include "muster/base/clock.h"

namespace muster {
namespace {

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& system_clock() {
  // Never destroyed: threads may still ask it while the process ends.
  static const auto* const kClock = new SystemClock;
  return *kClock;
}

}  // namespace muster
