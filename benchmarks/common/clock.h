// The one clock of all benchmarks: monotonic, the same in every process.
#pragma once

#include <chrono>
#include <cstdint>

#include <time.h>

namespace muster::bench {

// Nanoseconds of CLOCK_MONOTONIC. Processes of one machine may compare them,
// which is how the time of a one-way transfer is taken.
inline std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

// Tells when a run is over; asked between operations, never in the middle.
class Deadline {
 public:
  explicit Deadline(double seconds) : end_(now_ns() + static_cast<std::int64_t>(seconds * 1e9)) {}
  bool passed() const { return now_ns() >= end_; }
  bool passed(std::int64_t now) const { return now >= end_; }

 private:
  std::int64_t end_;
};

// What "silence" means in the parked cases: the calling thread itself sleeps.
inline constexpr std::chrono::milliseconds kSilence{1};

}  // namespace muster::bench
