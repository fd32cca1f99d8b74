// 64-byte round trips over PAIR sockets.
#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/peers/nng/cases.h"
#include "benchmarks/peers/nng/socket.h"

namespace muster::bench::nng {
namespace {

void serve(const std::string& address, Notice& bound) {
  Socket socket;
  socket.listen(address, bound);
  echo([&](Message& message) { socket.receive(&message, sizeof(message)); },
       [&](const Message& message) { socket.send(&message, sizeof(message)); });
}

using Timing = Report (*)(const Options&, const Exchange&);

Report round_trips(const Options& options, const std::string& address, Timing timing) {
  const Shared<Notice> bound;
  Process other([&] { serve(address, *bound); });
  Socket socket;
  socket.dial(*bound);
  const Report report = timing(options, [&](Message& message) {
    socket.send(&message, sizeof(message));
    socket.receive(&message, sizeof(message));
  });
  other.join();
  return report;
}

}  // namespace

Report ipc_awake(const Options& options) { return round_trips(options, ipc_address(), time_awake); }
Report tcp_awake(const Options& options) { return round_trips(options, tcp_address(), time_awake); }
Report ipc_parked(const Options& options) {
  return round_trips(options, ipc_address(), time_parked);
}
Report tcp_parked(const Options& options) {
  return round_trips(options, tcp_address(), time_parked);
}

}  // namespace muster::bench::nng
