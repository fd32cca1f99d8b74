// 64-byte messages one way, PUSH to PULL.
#include "benchmarks/common/stream.h"

#include <zmq.h>

#include "benchmarks/common/process.h"
#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/socket.h"

namespace muster::bench::zmq {
namespace {

// The default of 1,000 makes the two sides wait for each other much more often.
constexpr int kHighWaterMark = 100'000;

Report stream(const Options& options, const std::string& address, const Keys* keys = nullptr) {
  const Shared<Notice> bound;
  const Shared<Gate> received;
  Process sender([&] {
    Socket socket(ZMQ_PUSH);
    socket.set(ZMQ_SNDHWM, kHighWaterMark);
    socket.encrypt_as_client(keys);
    socket.connect(*bound);
    send_stream(options, [&](const Message& message) { socket.send(&message, sizeof(message)); });
    // A receiver whose queue is full when the other end closes drops what it has
    // not yet read from its socket, so this end stays open until all is there.
    received->arrive_and_wait(2);
  });

  Socket socket(ZMQ_PULL);
  socket.set(ZMQ_RCVHWM, kHighWaterMark);
  socket.encrypt_as_server(keys);
  socket.bind(address, *bound);
  StreamTally tally;
  Message message{};
  do {
    socket.receive(&message, sizeof(message));
  } while (tally.accept(message));
  received->arrive_and_wait(2);
  sender.join();
  return tally.report();
}

}  // namespace

Report ipc_stream(const Options& options) { return stream(options, ipc_address()); }
Report tcp_stream(const Options& options) { return stream(options, tcp_address()); }
Report curve_stream(const Options& options) {
  const Keys keys = make_keys();
  return stream(options, tcp_address(), &keys);
}

}  // namespace muster::bench::zmq
