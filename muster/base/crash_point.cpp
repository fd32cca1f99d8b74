#include "muster/base/crash_point.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace muster {
namespace {

std::atomic<std::uint64_t> fatal{0};
std::atomic<std::uint64_t> passed{0};

}  // namespace

void crash_at(std::uint64_t number) {
  passed = 0;
  fatal = number;
}

std::uint64_t crash_points_passed() { return passed; }

void pass_crash_point() {
  const std::uint64_t number = passed.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == fatal.load(std::memory_order_relaxed)) kill(getpid(), SIGKILL);
}

}  // namespace muster
