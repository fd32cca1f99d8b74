// 64 MiB bodies one way, from the sender's memory without a copy of its own.
#include "benchmarks/common/large.h"

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/received.h"

namespace muster::bench::zmq {
namespace {

// An empty body ends the run.
void receive_bodies(const std::string& address, Notice& bound, const Keys* keys) {
  Socket socket(ZMQ_PAIR);
  socket.encrypt_as_server(keys);
  socket.bind(address, bound);
  for (std::uint64_t number = 0;; ++number) {
    Received body(socket);
    const Arrival arrival{number, now_ns()};
    if (body.bytes().empty()) return;
    if (body.bytes().size() != kLargeBody) fail("a body of the wrong size");
    verify_body(body.bytes(), number);
    socket.send(&arrival, sizeof(arrival));
  }
}

Report large(const Options& options, const std::string& address, const Keys* keys = nullptr) {
  const Shared<Notice> bound;
  Process receiver([&] { receive_bodies(address, *bound, keys); });
  Socket socket(ZMQ_PAIR);
  socket.encrypt_as_client(keys);
  socket.connect(*bound);
  const BodyBuffer body;
  const Report report = time_bodies(options, body.bytes(), [&](std::uint64_t) {
    send_in_place(socket, body.bytes());
    Arrival arrival{};
    socket.receive(&arrival, sizeof(arrival));
    return arrival;
  });
  socket.send(nullptr, 0);
  receiver.join();
  return report;
}

}  // namespace

Report ipc_large(const Options& options) { return large(options, ipc_address()); }
Report tcp_large(const Options& options) { return large(options, tcp_address()); }
Report curve_large(const Options& options) {
  const Keys keys = make_keys();
  return large(options, tcp_address(), &keys);
}

}  // namespace muster::bench::zmq
