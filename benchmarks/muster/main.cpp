// bench_muster: our own drivers, through links, and what stands on them, with default settings.
#include "benchmarks/common/collective.h"
#include "benchmarks/muster/cases.h"

namespace muster::bench::ours {
namespace {

constexpr Case kCases[] = {
    {"shm.rtt.awake", shm_awake},
    {"shm.rtt.parked", shm_parked},
    {"tcp.rtt.awake", tcp_awake},
    {"tcp.rtt.parked", tcp_parked},
    {"shm.stream", shm_stream},
    {"tcp.stream", tcp_stream},
    {"shm.large.inplace", shm_inplace},
    {"shm.handover.64K", shm_handover_64k},
    {"shm.handover.256M", shm_handover_256m},
    {"shm.handover.asleep", shm_handover_asleep},
    {"shm.large.copied", shm_copied},
    {"shm.large.noptrace", shm_noptrace},
    {"tcp.large", tcp_large},
    {"tls.rtt.awake", tls_awake},
    {"tls.large", tls_large},
    {"zmq.rtt", zmq_rtt},
    {"zmq.stream", zmq_stream},
    {"zmq.large", zmq_large},
    {"zmq.curve.rtt", curve_rtt},
    {"zmq.curve.stream", curve_stream},
    {"zmq.curve.large", curve_large},
    {"ucx.rtt.awake", ucx_awake},
    {"ucx.large", ucx_large},
    {"shm.crowd", shm_crowd},
    {"memory.link", memory_link},
    {"memory.1000", memory_1000},
    {"event.push", event_push},
    {"task.shm", task_shm},
    {"task.tcp", task_tcp},
    {"scatter.crowd", scatter_crowd},
    {"broadcast.large", broadcast_large},
    {"join.50", join_50},
    {"loss.known", loss_known},
    {"kernel.copy", kernel_copy},
    {"kernel.sum.2", kernel_sum_two},
    {"kernel.sum.4", kernel_sum_four},
};

}  // namespace
}  // namespace muster::bench::ours

int main(int argc, char** argv) {
  using namespace muster::bench;
  Family family = collective_family(ours::collective, true);
  family.has = ours::has_collective;
  return run_program(argc, argv, ours::kCases, family);
}
