// PlainSocket: a socket on loopback, as a stranger has one.

#pragma once

#include <cstdint>

#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/net/socket_address.h"

namespace muster::drivers::tcp::testing {

struct PlainSocket {
  PlainSocket() : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    MUSTER_CHECK(fd >= 0, "a test has descriptors left");
  }
  ~PlainSocket() { close(fd); }
  PlainSocket(const PlainSocket&) = delete;
  PlainSocket& operator=(const PlainSocket&) = delete;

  void connect_to(std::uint16_t port) const {
    const auto to = *net::SocketAddress::parse("127.0.0.1", port);
    connect(fd, to.data(), to.size());
  }
  // Listens, and returns the port.
  std::uint16_t listen_with(int backlog) const {
    const auto here = *net::SocketAddress::parse("127.0.0.1", 0);
    bind(fd, here.data(), here.size());
    listen(fd, backlog);
    return net::SocketAddress::of_local(fd)->port();
  }
  int fd;
};

}  // namespace muster::drivers::tcp::testing
