// Runs UCX's own measurement, ucx_perftest, as two processes of this host.
#pragma once

#include <cstddef>

namespace muster::bench::ucx {

struct Job {
  const char* fabrics;  // As UCX_TLS.
  const char* test;     // As ucx_perftest names it.
  std::size_t size;     // Bytes of a message.
  std::size_t count;    // Messages to measure.
};

struct Figures {
  double one_way_us = 0;  // p50
  double messages_per_s = 0;
};

// Fails the program if ucx_perftest does.
Figures run_perftest(const Job& job);

}  // namespace muster::bench::ucx
