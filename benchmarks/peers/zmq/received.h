// A message of libzmq's own, read where libzmq has put it, and one sent from
// where it lies.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>

#include <zmq.h>

#include "benchmarks/common/fail.h"
#include "benchmarks/peers/zmq/socket.h"

namespace muster::bench::zmq {

// The body may be stamped anew once its arrival is confirmed: by then libzmq
// has written it all, so nothing needs to be told when it lets go.
inline void let_go(void* /*data*/, void* /*hint*/) {}

inline void send_in_place(Socket& socket, std::span<std::byte> body) {
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

}  // namespace muster::bench::zmq
