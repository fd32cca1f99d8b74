// Many processes that talk in pairs, all at once, on few cores.
#pragma once

#include <cstddef>
#include <functional>

#include "benchmarks/common/program.h"
#include "benchmarks/common/round_trip.h"

namespace muster::bench {

inline constexpr std::size_t kCrowdPairs = 8;

// One end of pair number `pair`. `serve` echoes until the stop message;
// `call` sets itself up and hands its Exchange to `run`.
struct Crowd {
  std::function<void(std::size_t pair)> serve;
  std::function<void(std::size_t pair, const std::function<void(const Exchange&)>& run)> call;
};

// Forks all 16, lets them start together and counts messages of all pairs (each
// direction is one). extra.slowest_share is the slowest pair's part of the mean.
Report count_crowd(const Options& options, const Crowd& crowd);

}  // namespace muster::bench
