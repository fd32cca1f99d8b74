#include "muster/base/clock.h"

namespace muster {
namespace {

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock kClock;
  return kClock;
}

}  // namespace muster
