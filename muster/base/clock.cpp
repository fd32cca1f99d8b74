#include "muster/base/clock.h"

#include <ctime>

namespace muster {
namespace {

class SystemClock final : public Clock {
 public:
  // What std::chrono::steady_clock asks too, without the way through the library.
  TimePoint now() const override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

}  // namespace

const Clock& system_clock() {
  // Never destroyed: threads may still ask it while the process ends.
  static const auto* const kClock = new SystemClock;
  return *kClock;
}

}  // namespace muster
