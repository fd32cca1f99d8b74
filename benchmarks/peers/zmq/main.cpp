// bench_zmq: libzmq as a peer. Its ipc stands against our shared memory.
#include "benchmarks/peers/zmq/cases.h"

int main(int argc, char** argv) {
  using namespace muster::bench;
  static constexpr Case kCases[] = {
      {"shm.rtt.awake", zmq::ipc_awake},    {"shm.rtt.parked", zmq::ipc_parked},
      {"shm.stream", zmq::ipc_stream},      {"shm.large.copied", zmq::ipc_large},
      {"shm.crowd", zmq::ipc_crowd},        {"tcp.rtt.awake", zmq::tcp_awake},
      {"tcp.rtt.parked", zmq::tcp_parked},  {"tcp.stream", zmq::tcp_stream},
      {"tcp.large", zmq::tcp_large},
  };
  return run_program(argc, argv, kCases);
}
