// bench_raw: the limits that ours is held against.
#include "benchmarks/common/collective.h"
#include "benchmarks/peers/raw/cases.h"

namespace muster::bench::raw {
namespace {

constexpr Case kCases[] = {
    {"shm.rtt.awake", shm_awake},
    {"shm.rtt.parked", shm_parked},
    {"shm.large.inplace", shm_inplace},
    {"tcp.rtt.awake", tcp_awake},
    {"tcp.rtt.parked", tcp_parked},
    {"tcp.large", tcp_large},
    {"memory.copy", memory_copy},
    {"memory.read", memory_read},
    {"shm.handover.asleep", shm_handover_asleep},
};

}  // namespace
}  // namespace muster::bench::raw

int main(int argc, char** argv) {
  using namespace muster::bench;
  const Family family{
      {"allreduce.64M.4"},
      [](std::string_view name) {
        const auto job = CollectiveJob::parse(name);
        return job && job->operation == Collective::allreduce;
      },
      raw::allreduce,
  };
  return run_program(argc, argv, raw::kCases, family);
}
