// bench_nng: nng as a peer, for information. No bar is set against it.
#include "benchmarks/peers/nng/cases.h"

namespace muster::bench::nng {
namespace {

constexpr Case kCases[] = {
    {"shm.rtt.awake", ipc_awake}, {"shm.rtt.parked", ipc_parked}, {"shm.stream", ipc_stream},
    {"tcp.rtt.awake", tcp_awake}, {"tcp.rtt.parked", tcp_parked}, {"tcp.stream", tcp_stream},
};

}  // namespace
}  // namespace muster::bench::nng

int main(int argc, char** argv) {
  return muster::bench::run_program(argc, argv, muster::bench::nng::kCases);
}
