#include "muster/drivers/tcp/socket_options.h"

#include <cerrno>
#include <string_view>

#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

namespace muster::drivers::tcp {
namespace {

// Given to the kernel for each direction; it takes memory only for bytes that
// wait. With its own choice a large body falls out of the cache on its way.
constexpr int kKernelBuffer = 2 << 20;
// Bytes that the kernel takes beyond what it can send: what is sent later has
// to wait for them.
constexpr int kNotSent = 256 << 10;
// On a local route there is no congestion to model, and the models of others
// cost half of the throughput.
constexpr std::string_view kLocalCongestion = "cubic";

void set(int socket, int level, int option, int value) {
  // Best effort: the connection works without, only slower.
  setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Status check_reachable(const SocketAddress& address) {
  if (address.is_loopback()) return ok();
  return Error(Code::unsupported, address.host() +
                                      " is not a loopback address; beyond this host tcp needs "
                                      "encryption, which it does not have yet");
}

Result<int> make_socket(const SocketAddress& address) {
  const int made = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return system_error(Code::overloaded, "make a socket", errno);
  set(made, IPPROTO_TCP, TCP_NODELAY, 1);
  // Before connect and listen, or the window is agreed upon without them.
  set(made, SOL_SOCKET, SO_SNDBUF, kKernelBuffer);
  set(made, SOL_SOCKET, SO_RCVBUF, kKernelBuffer);
  set(made, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kNotSent);
  if (address.is_loopback()) {
    setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, kLocalCongestion.data(), kLocalCongestion.size());
  }
  return made;
}

bool peer_needs_this_processor(int socket) {
  // Over loopback a packet is received on the processor that sent it.
  int processor = -1;
  socklen_t size = sizeof processor;
  if (getsockopt(socket, SOL_SOCKET, SO_INCOMING_CPU, &processor, &size) != 0) return false;
  return processor == sched_getcpu();
}

}  // namespace muster::drivers::tcp
