// 64 MiB bodies one way, from the sender's memory without a copy of its own.
#include "benchmarks/common/large.h"

#include <cerrno>
#include <vector>

#include <zmq.h>

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/socket.h"

namespace muster::bench::zmq {
namespace {

// The body may be stamped anew once its arrival is confirmed: by then libzmq
// has written it all, so nothing needs to be told when it lets go.
void let_go(void* /*data*/, void* /*hint*/) {}

void send_in_place(Socket& socket, std::span<std::byte> body) {
  zmq_msg_t message;
  zmq_msg_init_data(&message, body.data(), body.size(), let_go, nullptr);
  while (zmq_msg_send(&message, socket.handle(), 0) < 0) {
    if (zmq_errno() != EINTR) fail("zmq_msg_send failed");
  }
}

class Received {
 public:
  explicit Received(Socket& socket) {
    zmq_msg_init(&message_);
    while (zmq_msg_recv(&message_, socket.handle(), 0) < 0) {
      if (zmq_errno() != EINTR) fail("zmq_msg_recv failed");
    }
  }
  ~Received() { zmq_msg_close(&message_); }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;

  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
  }

 private:
  zmq_msg_t message_{};
};

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
  std::vector<std::byte> body(kLargeBody);
  const Report report = time_bodies(options, body, [&](std::uint64_t) {
    send_in_place(socket, body);
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
