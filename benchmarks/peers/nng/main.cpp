// bench_nng: nng as a peer, for information. No bar is set against it.
#include "benchmarks/peers/nng/cases.h"

int main(int argc, char** argv) {
  using namespace muster::bench;
  static constexpr Case kCases[] = {
      {"shm.rtt.awake", nng::ipc_awake}, {"shm.rtt.parked", nng::ipc_parked},
      {"shm.stream", nng::ipc_stream},   {"tcp.rtt.awake", nng::tcp_awake},
      {"tcp.rtt.parked", nng::tcp_parked}, {"tcp.stream", nng::tcp_stream},
  };
  return run_program(argc, argv, kCases);
}
