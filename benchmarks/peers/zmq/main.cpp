// bench_zmq: libzmq as a peer. Its ipc stands against our shared memory.
#include "benchmarks/peers/zmq/cases.h"

namespace muster::bench::zmq {
namespace {

constexpr Case kCases[] = {
    {"shm.rtt.awake", ipc_awake},       {"shm.rtt.parked", ipc_parked},
    {"shm.stream", ipc_stream},         {"shm.large.copied", ipc_large},
    {"shm.crowd", ipc_crowd},           {"tcp.rtt.awake", tcp_awake},
    {"tcp.rtt.parked", tcp_parked},     {"tcp.stream", tcp_stream},
    {"tcp.large", tcp_large},           {"scatter.crowd", ipc_scatter},
    {"broadcast.large", ipc_broadcast}, {"curve.rtt", curve_awake},
    {"curve.stream", curve_stream},     {"curve.large", curve_large},
};

}  // namespace
}  // namespace muster::bench::zmq

int main(int argc, char** argv) {
  return muster::bench::run_program(argc, argv, muster::bench::zmq::kCases);
}
