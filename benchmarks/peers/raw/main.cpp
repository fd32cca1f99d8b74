// bench_raw: the limits that ours is held against.
#include "benchmarks/peers/raw/cases.h"

int main(int argc, char** argv) {
  using namespace muster::bench;
  static constexpr Case kCases[] = {
      {"shm.rtt.awake", raw::shm_awake},       {"shm.rtt.parked", raw::shm_parked},
      {"shm.large.inplace", raw::shm_inplace}, {"tcp.rtt.awake", raw::tcp_awake},
      {"tcp.rtt.parked", raw::tcp_parked},     {"tcp.large", raw::tcp_large},
      {"memory.copy", raw::memory_copy},       {"memory.read", raw::memory_read},
  };
  return run_program(argc, argv, kCases);
}
