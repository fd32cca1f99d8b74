#include "benchmarks/peers/raw/socket.h"

#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/peers/raw/ring.h"

namespace muster::bench::raw {
namespace {

void set(int fd, int level, int name, int value) {
  check_call(setsockopt(fd, level, name, &value, sizeof(value)), "setsockopt");
}

// Only root may choose cubic where the system does not list it as allowed; reno
// always is, and over loopback, where nothing gets lost, it is as good.
void set_loss_based(int fd) {
  for (const char* name : {"cubic", "reno"}) {
    const auto length = static_cast<socklen_t>(std::strlen(name));
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, length) == 0) return;
  }
  fail_errno("setsockopt TCP_CONGESTION");
}

Socket open_socket(const SocketOptions& options) {
  Socket made(check_call(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  set(made.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (options.buffer_bytes != 0) {
    set(made.fd(), SOL_SOCKET, SO_SNDBUF, options.buffer_bytes);
    set(made.fd(), SOL_SOCKET, SO_RCVBUF, options.buffer_bytes);
  }
  if (options.loss_based) set_loss_based(made.fd());
  return made;
}

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool again(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

void Socket::send_all(const void* data, std::size_t size) const {
  const auto* at = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t sent = check_call(send(fd_, at, size, MSG_NOSIGNAL), "send");
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void Socket::spin_send(const void* data, std::size_t size) const {
  const auto* at = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t sent = send(fd_, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (again(sent)) continue;
    check_call(sent, "send");
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void Socket::receive_all(void* data, std::size_t size) const { receive(data, size, 0); }

void Socket::spin_receive(void* data, std::size_t size) const { receive(data, size, MSG_DONTWAIT); }

void Socket::receive(void* data, std::size_t size, int flags) const {
  auto* at = static_cast<std::byte*>(data);
  while (size > 0) {
    const ssize_t got = recv(fd_, at, size, flags);
    if (again(got)) continue;
    if (check_call(got, "recv") == 0) fail("the connection closed early");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

void run_over_tcp(const SocketOptions& options, const std::function<void(const Socket&)>& server,
                  const std::function<void(const Socket&)>& client) {
  const Socket listener = open_socket(options);
  sockaddr_in address = loopback();
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check_call(bind(listener.fd(), generic, length), "bind");
  check_call(listen(listener.fd(), 1), "listen");
  check_call(getsockname(listener.fd(), generic, &length), "getsockname");

  Process other([&] {
    const Socket accepted(check_call(accept(listener.fd(), nullptr, nullptr), "accept"));
    set(accepted.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
    server(accepted);
  });
  const Socket dialled = open_socket(options);
  check_call(connect(dialled.fd(), generic, length), "connect");
  client(dialled);
  other.join();
}

}  // namespace muster::bench::raw
