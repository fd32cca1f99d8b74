// Ping-pong over loopback TCP, both sides spinning on a non-blocking receive.
#include "benchmarks/common/round_trip.h"
#include "benchmarks/peers/raw/cases.h"
#include "benchmarks/peers/raw/socket.h"

namespace muster::bench::raw {

Report tcp_awake(const Options& options) {
  Report report;
  run_over_tcp(
      {},
      [](const Socket& socket) {
        echo([&](Message& message) { socket.spin_receive(&message, sizeof(message)); },
             [&](const Message& message) { socket.spin_send(&message, sizeof(message)); });
      },
      [&](const Socket& socket) {
        report = time_awake(options, [&](Message& message) {
          socket.spin_send(&message, sizeof(message));
          socket.spin_receive(&message, sizeof(message));
        });
      });
  return report;
}

}  // namespace muster::bench::raw
