// bench_raw: the limits that ours is held against.
#include "benchmarks/peers/raw/cases.h"

namespace muster::bench::raw {
namespace {

constexpr Case kCases[] = {
    {"shm.rtt.awake", shm_awake},       {"shm.rtt.parked", shm_parked},
    {"shm.large.inplace", shm_inplace}, {"tcp.rtt.awake", tcp_awake},
    {"tcp.rtt.parked", tcp_parked},     {"tcp.large", tcp_large},
    {"memory.copy", memory_copy},       {"memory.read", memory_read},
};

}  // namespace
}  // namespace muster::bench::raw

int main(int argc, char** argv) {
  return muster::bench::run_program(argc, argv, muster::bench::raw::kCases);
}
