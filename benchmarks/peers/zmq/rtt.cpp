// 64-byte round trips over PAIR sockets, which add no routing frames.
#include <zmq.h>

#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/socket.h"

namespace muster::bench::zmq {
namespace {

void serve(const std::string& address, Notice& bound, const Keys* keys) {
  Socket socket(ZMQ_PAIR);
  socket.encrypt_as_server(keys);
  socket.bind(address, bound);
  echo([&](Message& message) { socket.receive(&message, sizeof(message)); },
       [&](const Message& message) { socket.send(&message, sizeof(message)); });
}

using Timing = Report (*)(const Options&, const Exchange&);

Report round_trips(const Options& options, const std::string& address, Timing timing,
                   const Keys* keys = nullptr) {
  const Shared<Notice> bound;
  Process other([&] { serve(address, *bound, keys); });
  Socket socket(ZMQ_PAIR);
  socket.encrypt_as_client(keys);
  socket.connect(*bound);
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
Report curve_awake(const Options& options) {
  const Keys keys = make_keys();
  return round_trips(options, tcp_address(), time_awake, &keys);
}
Report ipc_parked(const Options& options) {
  return round_trips(options, ipc_address(), time_parked);
}
Report tcp_parked(const Options& options) {
  return round_trips(options, tcp_address(), time_parked);
}

}  // namespace muster::bench::zmq
