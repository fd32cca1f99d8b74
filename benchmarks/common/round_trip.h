// Times 64-byte round trips; the transport is the caller's.
#pragma once

#include <functional>

#include "benchmarks/common/message.h"
#include "benchmarks/common/program.h"

namespace muster::bench {

// Sends the message, waits for the echo and writes it over the message.
using Exchange = std::function<void(Message&)>;

// Back to back: p50 in microseconds. The first tenth warms up and is left out.
// Ends by exchanging the stop message, which the other side echoes as well.
Report time_awake(const Options& options, const Exchange& exchange);

// The same with kSilence of sleep in the calling thread before each call,
// which is outside the measured time.
Report time_parked(const Options& options, const Exchange& exchange);

// The other side: receives with `receive`, verifies, and sends the same bytes
// back with `send`, until the stop message has been echoed.
void echo(const std::function<void(Message&)>& receive,
          const std::function<void(const Message&)>& send);

}  // namespace muster::bench
