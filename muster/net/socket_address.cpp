#include "muster/net/socket_address.h"

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

namespace muster::net {
namespace {

constexpr std::uint8_t kLoopbackNet = 127;

// Whether others reach this address; one of a single link would need its name too.
bool is_of_use(const SocketAddress& address, int family) {
  if (address.family() != family || address.is_loopback()) return false;
  return family == AF_INET || !address.host().starts_with("fe80:");
}

// Empty if this host has none.
std::string first_beyond_loopback(int family) {
  std::string found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr && found.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const auto address = SocketAddress::from(entry->ifa_addr);
    if (address && is_of_use(*address, family)) found = address->host();
  }
  freeifaddrs(list);
  return found;
}

}  // namespace

std::optional<SocketAddress> SocketAddress::parse(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  if (inet_pton(AF_INET, host.c_str(), &address.any_.v4.sin_addr) == 1) {
    address.any_.v4.sin_family = AF_INET;
    address.any_.v4.sin_port = htons(port);
    return address;
  }
  address.any_.v6 = {};
  if (inet_pton(AF_INET6, host.c_str(), &address.any_.v6.sin6_addr) == 1) {
    address.any_.v6.sin6_family = AF_INET6;
    address.any_.v6.sin6_port = htons(port);
    return address;
  }
  return std::nullopt;
}

std::optional<SocketAddress> SocketAddress::from(const sockaddr* address) {
  SocketAddress copy;
  if (address->sa_family == AF_INET) {
    copy.any_.v4 = *reinterpret_cast<const sockaddr_in*>(address);
  } else if (address->sa_family == AF_INET6) {
    copy.any_.v6 = *reinterpret_cast<const sockaddr_in6*>(address);
  } else {
    return std::nullopt;
  }
  return copy;
}

std::optional<SocketAddress> SocketAddress::of_local(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const generic = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(socket, generic, &size) != 0) return std::nullopt;
  return from(generic);
}

std::optional<SocketAddress> SocketAddress::of_peer(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const generic = reinterpret_cast<sockaddr*>(&storage);
  if (getpeername(socket, generic, &size) != 0) return std::nullopt;
  return from(generic);
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) return ntohl(any_.v4.sin_addr.s_addr) >> 24 == kLoopbackNet;
  const in6_addr& v6 = any_.v6.sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == kLoopbackNet);
}

bool SocketAddress::is_any() const {
  if (family() == AF_INET) return any_.v4.sin_addr.s_addr == htonl(INADDR_ANY);
  const in6_addr& v6 = any_.v6.sin6_addr;
  return IN6_IS_ADDR_UNSPECIFIED(&v6);
}

std::uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? any_.v4.sin_port : any_.v6.sin6_port);
}

std::string SocketAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const from = family() == AF_INET ? static_cast<const void*>(&any_.v4.sin_addr)
                                               : static_cast<const void*>(&any_.v6.sin6_addr);
  inet_ntop(family(), from, text.data(), text.size());
  return text.data();
}

Address SocketAddress::address(std::string scheme) const {
  return {std::move(scheme), host(), port(), port()};
}

socklen_t SocketAddress::size() const {
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::vector<SocketAddress> addresses_without_asking(const Address& address) {
  if (address.host == "localhost") {
    return {*SocketAddress::parse("127.0.0.1", address.port),
            *SocketAddress::parse("::1", address.port)};
  }
  if (const auto numeric = SocketAddress::parse(address.host, address.port)) return {*numeric};
  return {};
}

std::string host_to_tell(const SocketAddress& bound) {
  if (!bound.is_any()) return bound.host();
  const bool is_v4 = bound.family() == AF_INET;
  std::string found = first_beyond_loopback(bound.family());
  // Where IPv6 is all addresses, those of IPv4 are among them.
  if (found.empty() && !is_v4) found = first_beyond_loopback(AF_INET);
  if (found.empty()) return is_v4 ? "127.0.0.1" : "::1";
  return found;
}

}  // namespace muster::net
