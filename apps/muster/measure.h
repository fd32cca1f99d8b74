// Two processes that find each other and exchange messages, and what it takes.

#pragma once

#include <string>

#include "muster/base/result.h"

namespace muster::app {

struct Measurement {
  std::string scheme;
  double round_trip_us = 0;    // 64 bytes there and back, median.
  double messages_per_s = 0;   // 64 bytes, one way.
  double copied_gb_per_s = 0;  // 64 MiB bodies from private memory.
  double handover_us = 0;      // 64 MiB body made where the peer can read it; 0: no such.
};

// Starts the other process, talks to it over `scheme` for about a second.
Result<Measurement> measure(const std::string& scheme);

// What the other process does: prints where it listens, then answers until
// the first one leaves.
Status serve_measurement(const std::string& scheme);

}  // namespace muster::app
