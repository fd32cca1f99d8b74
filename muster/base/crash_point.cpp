#include "muster/base/crash_point.h"

#include <csignal>

#include <unistd.h>

namespace muster {
// Made by the linker, if anything lies in the section.
[[gnu::weak]] extern CrashPoint first_point[] __asm__("__start_muster_crash_points");
[[gnu::weak]] extern CrashPoint end_of_points[] __asm__("__stop_muster_crash_points");

namespace {

std::atomic<const CrashPoint*> fatal{nullptr};
std::atomic<std::uint32_t> fatal_passage{0};

}  // namespace

std::span<CrashPoint> crash_points() { return {first_point, end_of_points}; }

void crash_at(std::size_t index, std::uint32_t passage) {
  for (CrashPoint& point : crash_points()) point.passed = 0;
  fatal_passage = passage;
  fatal = &crash_points()[index];
}

void pass_crash_point(CrashPoint& point) {
  const std::uint32_t passage = point.passed.fetch_add(1, std::memory_order_relaxed) + 1;
  if (&point != fatal.load(std::memory_order_relaxed)) return;
  if (passage == fatal_passage.load(std::memory_order_relaxed)) kill(getpid(), SIGKILL);
}

}  // namespace muster
