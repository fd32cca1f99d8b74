// The inproc driver: components of one process, on one loop or on several.
//
// Frames pass by reference and nothing is ever copied. What is sent arrives
// before the sender gives the loop's baton up, or a little later; never from
// inside send().

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::drivers {

// Where the drivers of one process find each other's names.
class InprocHub;
std::shared_ptr<InprocHub> make_inproc_hub();

struct InprocOptions {
  // What may be under way in one direction of a connection before send() says
  // overloaded. One frame always fits an empty queue, whatever its size.
  std::size_t max_frames = 1024;
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
  // Shared with the drivers of other loops; null: names are the driver's own.
  std::shared_ptr<InprocHub> hub = nullptr;
};

// Serves inproc://NAME. To listen on inproc://* finds a free name.
std::unique_ptr<net::Driver> make_inproc_driver(loop::Loop& loop, InprocOptions options = {});

}  // namespace muster::drivers
