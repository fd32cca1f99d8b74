// Doorkeeper: says to libzmq who may come in (ZAP, RFC 27 of ZeroMQ).
//
// libzmq asks once for each caller that has proved that it has the key it
// shows, and lets nobody in without an answer.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "muster/drivers/zmq/socket.h"
#include "muster/loop/loop.h"

namespace muster::drivers::zmq {

class Doorkeeper final : loop::FdHandler {
 public:
  // May one with this key come in where `domain` is served?
  using Decide = std::function<bool(std::string_view domain, std::span<const std::byte> key)>;

  Doorkeeper(loop::Loop& loop, void* context, Decide decide);
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  // Code::overloaded if the process has no descriptor left.
  Status start();

 private:
  void on_ready(std::uint32_t events) override;
  void answer();

  loop::Loop& loop_;
  Decide decide_;
  Socket socket_;
  std::vector<Message> request_;
  int watching_ = -1;
};

// The answer to a request of ZAP's: its status. Pure.
std::string_view status_of(std::span<const std::string_view> request,
                           const Doorkeeper::Decide& decide);

}  // namespace muster::drivers::zmq
