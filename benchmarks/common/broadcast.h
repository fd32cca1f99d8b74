// A 64 MiB body in one process's memory goes to eight others on this host, and
// all of them read it.
//
// Measured is from the call that sends the stamped body until the last has read
// every word, found all of them right, and said so.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "benchmarks/common/program.h"

namespace muster::bench {

inline constexpr std::size_t kReaders = 8;

// `round(number)` sends `body` and returns once all readers have confirmed it.
Report time_broadcasts(const Options& options, std::span<std::byte> body,
                       const std::function<void(std::uint64_t number)>& round);

}  // namespace muster::bench
