// SocketAddress: a numeric IPv4 or IPv6 address and a port.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "muster/net/address.h"

namespace muster::net {

class SocketAddress {
 public:
  // "127.0.0.1" or "::1"; nothing if `host` is not numeric.
  static std::optional<SocketAddress> parse(const std::string& host, std::uint16_t port);
  // As the system gives it; nothing if it is of another family.
  static std::optional<SocketAddress> from(const sockaddr* address);
  // Of the two ends of a socket.
  static std::optional<SocketAddress> of_local(int socket);
  static std::optional<SocketAddress> of_peer(int socket);

  // True for 127.0.0.0/8 and ::1, also where the former is written as IPv6.
  bool is_loopback() const;
  // True for 0.0.0.0 and ::, which stand for all addresses of a host.
  bool is_any() const;
  int family() const { return any_.generic.sa_family; }
  std::uint16_t port() const;
  std::string host() const;
  Address address(std::string scheme = "tcp") const;

  // For system calls.
  const sockaddr* data() const { return &any_.generic; }
  socklen_t size() const;

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.address() == b.address();
  }

 private:
  SocketAddress() = default;
  union {
    sockaddr generic;
    sockaddr_in v4;
    sockaddr_in6 v6{};
  } any_;
};

// "localhost" and numeric addresses, for which nobody needs to be asked;
// empty for other names.
std::vector<SocketAddress> addresses_without_asking(const Address& address);

// The host to tell others who are to reach a socket that is bound to `bound`: of one
// that is bound to all addresses, the first that is not loopback, if there is one.
std::string host_to_tell(const SocketAddress& bound);

}  // namespace muster::net
