#include "muster/drivers/tcp/dialing.h"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/socket_options.h"

namespace muster::drivers::tcp {

Status Dialing::check(const net::Address& to) {
  if (to.port == 0) return Error(Code::invalid, "a port is missing");
  if (to.last_port != to.port) return Error(Code::invalid, "a port range is only for listening");
  return ok();
}

Dialing::Dialing(loop::Loop& loop, Resolver& resolver, net::Address to, Done done)
    : loop_(loop), resolver_(resolver), to_(std::move(to)), done_(std::move(done)), timer_([this] {
        finish(Error(Code::unavailable, "nobody answered in time"));
      }) {}

Dialing::~Dialing() { stop(); }

void Dialing::stop() {
  loop_.stop(timer_);
  if (ticket_) resolver_.cancel(*ticket_);
  ticket_.reset();
  drop_socket();
}

void Dialing::start(Duration patience) {
  loop_.start(timer_, loop_.now() + patience);
  std::vector<SocketAddress> known = addresses_without_asking(to_);
  if (!known.empty()) return try_these(std::move(known));
  auto ticket = resolver_.resolve(to_.host, to_.port, [this](Addresses addresses) {
    ticket_.reset();
    try_these(std::move(addresses));
  });
  if (!ticket) return finish(std::move(ticket).error());
  ticket_ = *ticket;
}

void Dialing::try_these(Addresses addresses) {
  if (!addresses) return finish(std::move(addresses).error());
  addresses_ = *std::move(addresses);
  try_next();
}

void Dialing::try_next() {
  while (next_ < addresses_.size()) {
    drop_socket();
    const SocketAddress& address = addresses_[next_++];
    if (Status begun = begin(address); !begun) {
      why_ = std::move(begun).error();
      continue;
    }
    if (is_watched_) return;  // on_ready() goes on.
    if (is_connected()) return finish(socket_);
  }
  finish(why_);
}

// Leaves the socket connected, or watched for the moment when it is.
Status Dialing::begin(const SocketAddress& address) {
  MUSTER_TRY(socket_, make_socket(address));
  if (connect(socket_, address.data(), address.size()) == 0) return ok();
  if (errno != EINPROGRESS) return system_error(Code::unavailable, "connect", errno);
  MUSTER_TRY_OK(loop_.watch(socket_, EPOLLOUT, *this));
  is_watched_ = true;
  return ok();
}

void Dialing::on_ready(std::uint32_t) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  int error = 0;
  socklen_t error_size = sizeof error;
  getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &error_size);
  if (error == 0 && getpeername(socket_, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return;
  loop_.unwatch(socket_);
  is_watched_ = false;
  if (error == 0 && is_connected()) return finish(socket_);
  if (error != 0) why_ = system_error(Code::unavailable, "connect", error);
  try_next();
}

// A port that nobody listens on may be given to this very socket as its own,
// and it then is connected to itself.
bool Dialing::is_connected() {
  if (SocketAddress::of_local(socket_) != SocketAddress::of_peer(socket_)) return true;
  why_ = system_error(Code::unavailable, "connect", ECONNREFUSED);
  return false;
}

void Dialing::drop_socket() {
  if (socket_ < 0) return;
  if (is_watched_) loop_.unwatch(socket_);
  is_watched_ = false;
  close(socket_);
  socket_ = -1;
}

void Dialing::finish(Result<int> result) {
  loop_.stop(timer_);
  if (result) {
    socket_ = -1;  // It belongs to `done` from here on.
  } else {
    drop_socket();
    result = std::move(result).error().during("dial " + to_.to_string());
  }
  const Done done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace muster::drivers::tcp
