#include "muster/drivers/tcp/socket_options.h"

#include <cerrno>
#include <string_view>

#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
// How much is thrown away at the end, at most.
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr int kPieces = 8;

void set(int socket, int level, int option, int value) {
  // Best effort: the connection works without, only slower.
  setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

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

void close_gently(int socket) {
  // A socket that is closed with bytes unread resets the connection, and the
  // peer may then lose what was sent to it before. So they are thrown away
  // first, as far as they have come.
  shutdown(socket, SHUT_WR);
  for (int piece = 0; piece < kPieces; ++piece) {
    // By its number: nothing is written, but sanitizers take recv() at its word.
    const long thrown =
        syscall(SYS_recvfrom, socket, nullptr, kPiece, MSG_TRUNC | MSG_DONTWAIT, nullptr, nullptr);
    if (thrown <= 0) break;
  }
  close(socket);
}

bool peer_needs_this_processor(int socket) {
  // Over loopback a packet is received on the processor that sent it.
  int processor = -1;
  socklen_t size = sizeof processor;
  if (getsockopt(socket, SOL_SOCKET, SO_INCOMING_CPU, &processor, &size) != 0) return false;
  return processor == sched_getcpu();
}

}  // namespace muster::drivers::tcp
