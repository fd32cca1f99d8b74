// MUSTER_CRASH_POINT: places where a test build can end the process, as kill -9 would.
//
// Every such place in the program is known, passed or not, and counts how often
// control went through it. A test runs a scenario once to learn how often each
// is passed, then once more for each passage that it wants to be the last. In
// other builds this is nothing.

#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace muster {

struct CrashPoint {
  const char* file;
  int line;
  std::atomic<std::uint32_t> passed;
};

// All of them, in an order that is the same in every process of one program.
std::span<CrashPoint> crash_points();

// From now on dies at passage number `passage`, from 1, of crash_points()[index].
// Counts afresh.
void crash_at(std::size_t index, std::uint32_t passage);

void pass_crash_point(CrashPoint& point);

}  // namespace muster

#ifdef MUSTER_CRASH_POINTS
// The linker gathers what lies in one section, and so makes the list.
#define MUSTER_CRASH_POINT()                                                          \
  do {                                                                                \
    [[gnu::section("muster_crash_points"),                                            \
      gnu::used]] constinit static ::muster::CrashPoint point{__FILE__, __LINE__, 0}; \
    ::muster::pass_crash_point(point);                                                \
  } while (false)
#else
#define MUSTER_CRASH_POINT() static_cast<void>(0)
#endif
