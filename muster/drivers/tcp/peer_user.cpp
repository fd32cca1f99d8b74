#include "muster/drivers/tcp/peer_user.h"

#include <cstring>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include "muster/base/descriptor.h"
#include "muster/net/socket_address.h"

namespace muster::drivers::tcp {
namespace {

using net::SocketAddress;

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 about;
};

void put(const SocketAddress& address, __be16& port, __be32 (&host)[4]) {
  port = htons(address.port());
  if (address.family() == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address.data(), sizeof v4);
    std::memcpy(host, &v4.sin_addr, sizeof v4.sin_addr);
  } else {
    sockaddr_in6 v6;
    std::memcpy(&v6, address.data(), sizeof v6);
    std::memcpy(host, &v6.sin6_addr, sizeof v6.sin6_addr);
  }
}

// About the one socket that is bound to `there` and connected to `here`.
Question question_about(const SocketAddress& there, const SocketAddress& here) {
  Question asked{};
  asked.head.nlmsg_len = sizeof asked;
  asked.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  asked.head.nlmsg_flags = NLM_F_REQUEST;
  asked.about.sdiag_family = static_cast<__u8>(there.family());
  asked.about.sdiag_protocol = IPPROTO_TCP;
  asked.about.idiag_states = ~0U;
  put(there, asked.about.id.idiag_sport, asked.about.id.idiag_src);
  put(here, asked.about.id.idiag_dport, asked.about.id.idiag_dst);
  asked.about.id.idiag_cookie[0] = asked.about.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return asked;
}

}  // namespace

std::optional<uid_t> user_of_peer(int socket) {
  const auto here = SocketAddress::of_local(socket);
  const auto there = SocketAddress::of_peer(socket);
  if (!here || !there || here->family() != there->family()) return std::nullopt;
  const Descriptor system(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  const Question asked = question_about(*there, *here);
  if (!system || send(system.get(), &asked, sizeof asked, 0) != sizeof asked) return std::nullopt;
  // It answers before send() returns.
  alignas(nlmsghdr) char answer[1024];
  const ssize_t size = recv(system.get(), answer, sizeof answer, 0);
  nlmsghdr head;
  inet_diag_msg found;
  if (size < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof found)) return std::nullopt;
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
  // A socket that nobody has accepted, or that is closed, says that it is root's.
  if (found.idiag_inode == 0) return std::nullopt;
  return found.idiag_uid;
}

}  // namespace muster::drivers::tcp
