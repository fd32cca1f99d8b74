// Times large bodies that go one way, one at a time.
//
// Measured is what a user waits for: from the call that sends a stamped body in
// the sender's memory until the receiver has all of it in its own. Stamping and
// verifying lie outside: they would cost the fastest transport the most.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "benchmarks/common/program.h"

namespace muster::bench {

// What the receiver sends back for each body, over the transport under test.
struct Arrival {
  std::uint64_t number;
  std::int64_t at_ns;  // now_ns() when the body was whole
};

// The sending side: `transfer(number)` sends `body` and returns the Arrival
// that came back. p50 in milliseconds; the first body warms up and is left out.
Report time_bodies(const Options& options, std::span<std::byte> body,
                   const std::function<Arrival(std::uint64_t number)>& transfer);

}  // namespace muster::bench
