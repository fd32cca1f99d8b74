// Dialing: from an address to a connected socket.
//
// Looks the host up if it is a name, tries its addresses in turn, and gives
// up when the time is over.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/net/address.h"
#include "muster/net/resolver.h"
#include "muster/net/socket_address.h"

namespace muster::drivers::tcp {

using net::Addresses;
using net::addresses_without_asking;
using net::Resolver;
using net::SocketAddress;

class Dialing final : loop::FdHandler {
 public:
  // Gets the socket, to keep. Code::unavailable if nobody answers.
  using Done = std::function<void(Result<int> socket)>;

  Dialing(loop::Loop& loop, Resolver& resolver, net::Address to, Done done);
  ~Dialing();
  Dialing(const Dialing&) = delete;
  Dialing& operator=(const Dialing&) = delete;

  // What can be said of `to` at once: Code::invalid.
  static Status check(const net::Address& to);

  // Calls `done` once, perhaps before it returns; this may be destroyed there.
  void start(Duration patience);

  // Gives up; `done` is not called any more.
  void stop();

 private:
  void on_ready(std::uint32_t events) override;
  void try_these(Addresses addresses);
  void try_next();
  Status begin(const SocketAddress& address);
  bool is_connected();
  void drop_socket();
  void finish(Result<int> result);

  loop::Loop& loop_;
  Resolver& resolver_;
  net::Address to_;
  Done done_;
  loop::Timer timer_;
  std::optional<std::uint64_t> ticket_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  int socket_ = -1;
  bool is_watched_ = false;
  Error why_{Code::unavailable, "the host has no address"};  // Of the last attempt.
};

}  // namespace muster::drivers::tcp
