#include "muster/drivers/tcp/tcp_listener.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/dialing.h"
#include "muster/drivers/tcp/plain_stream.h"
#include "muster/drivers/tcp/socket_options.h"
#include "muster/drivers/tcp/tcp_connection.h"

namespace muster::drivers::tcp {
namespace {

// Connections that wait to be taken in; the system may cut it.
constexpr int kBacklog = 1024;
constexpr int kAcceptsInARow = 32;
// For how long nothing is taken in when the process has no descriptor left.
constexpr auto kPause = std::chrono::milliseconds(50);

// A listening socket at exactly this address.
Result<int> bind_and_listen(const SocketAddress& address) {
  MUSTER_TRY(const int socket, make_socket(address));
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket, address.data(), address.size()) == 0 && listen(socket, kBacklog) == 0) {
    return socket;
  }
  const int error = errno;
  close(socket);
  return system_error(Code::unavailable, "bind", error);
}

// The first free port of the range.
Result<int> bind_in_range(const net::Address& address) {
  const bool is_range = address.last_port != address.port;
  for (int port = address.port;; ++port) {
    const auto here = addresses_without_asking(
        {address.scheme, address.host, static_cast<std::uint16_t>(port), 0});
    Result<int> socket = bind_and_listen(here.front());
    if (socket || !is_range) return socket;
    if (port == address.last_port) {
      return Error(Code::unavailable,
                   "no port of the range is free; the last said: " + socket.error().message());
    }
  }
}

// The connection is lost, or the caller was not let in: the next may do.
bool concerns_one_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENOPROTOOPT:
    case EOPNOTSUPP: return true;
    default: return false;
  }
}

}  // namespace

Result<std::unique_ptr<net::Listener>> TcpListener::open(TcpShared& shared,
                                                         const net::Address& address,
                                                         net::Driver::Accept accept) {
  const auto attempt = [&] { return "listen on " + address.to_string(); };
  if (addresses_without_asking(address).empty()) {
    return Error(Code::invalid, "a listener needs a numeric address or localhost")
        .during(attempt());
  }
  const Result<bool> encrypted = shared.encrypts(address);
  if (!encrypted) return encrypted.error().during(attempt());
  Result<int> socket = bind_in_range(address);
  if (!socket) return std::move(socket).error().during(attempt());
  const SocketAddress bound = *SocketAddress::of_local(*socket);
  net::Address told = bound.address();
  told.host = shared.options.advertised_host;
  if (told.host.empty()) told.host = net::host_to_tell(bound);
  // Whatever its host is called elsewhere.
  if (*encrypted) told.options = "tls=on";
  auto listener = std::make_unique<TcpListener>(shared, *socket, std::move(told), *encrypted,
                                                std::move(accept));
  if (Status watched = shared.loop.watch(*socket, EPOLLIN, *listener); !watched) {
    return std::move(watched).error().during(attempt());
  }
  listener->is_watched_ = true;
  return std::unique_ptr<net::Listener>(std::move(listener));
}

TcpListener::TcpListener(TcpShared& shared, int socket, net::Address address, bool encrypted,
                         net::Driver::Accept accept)
    : shared_(shared),
      socket_(socket),
      address_(std::move(address)),
      accept_(std::make_shared<net::Driver::Accept>(std::move(accept))),
      resume_([this] { shared_.loop.change(socket_, EPOLLIN); }),
      is_encrypted_(encrypted) {}

TcpListener::~TcpListener() {
  shared_.loop.stop(resume_);
  if (is_watched_) shared_.loop.unwatch(socket_);
  ::close(socket_);
}

void TcpListener::on_ready(std::uint32_t) {
  const std::shared_ptr<net::Driver::Accept> accept = accept_;
  for (int i = 0; i < kAcceptsInARow; ++i) {
    const int socket = accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      hand_over(socket);
      if (accept.use_count() == 1) return;  // This listener is gone.
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (!concerns_one_connection(errno)) {
      return pause(errno);
    }
  }
}

void TcpListener::hand_over(int socket) {
  std::unique_ptr<Stream> stream;
  if (is_encrypted_) {
    stream = (*shared_.tls)->accept(socket);
  } else {
    stream = std::make_unique<PlainStream>(socket, shared_.pipes);
  }
  const auto peer = SocketAddress::of_peer(socket);
  if (!peer) return;  // It has gone already.
  auto connection = std::make_unique<TcpConnection>(shared_, peer->address());
  TcpConnection& kept = *connection;
  net::Sink& sink = (*accept_)(std::move(connection));
  kept.take_up(std::move(stream), sink);
}

// Trying again at once would find the same, over and over.
void TcpListener::pause(int error) {
  shared_.warn("accept paused", "at " + address_.to_string() + "  why " +
                                    system_error(Code::overloaded, "accept", error).message());
  shared_.loop.change(socket_, 0);
  shared_.loop.start(resume_, shared_.loop.now() + kPause);
}

}  // namespace muster::drivers::tcp
