#include "muster/drivers/tcp/plain_stream.h"

#include <cerrno>
#include <optional>

#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/peer_user.h"
#include "muster/drivers/tcp/socket_options.h"

namespace muster::drivers::tcp {

PlainStream::PlainStream(int socket, PipeShelf& pipes) : socket_(socket), lender_(pipes) {
  const std::optional<SocketAddress> peer = SocketAddress::of_peer(socket);
  is_near_ = peer && peer->is_loopback();
}

PlainStream::~PlainStream() { close_gently(socket_); }

Transfer PlainStream::outcome(ssize_t result, Transfer::State at_zero) {
  if (result > 0) return {Transfer::State::moved, static_cast<std::size_t>(result)};
  if (result == 0) return {at_zero, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    return {Transfer::State::blocked, 0};
  }
  error_ = errno;
  return {Transfer::State::failed, 0};
}

Transfer PlainStream::read(std::span<const iovec> into) {
  const ssize_t result = into.size() == 1
                             ? recv(socket_, into[0].iov_base, into[0].iov_len, 0)
                             : readv(socket_, into.data(), static_cast<int>(into.size()));
  return outcome(result, Transfer::State::ended);
}

Transfer PlainStream::write(std::span<const iovec> from) {
  // Not writev(): it would raise SIGPIPE.
  if (from.size() == 1) {
    return outcome(send(socket_, from[0].iov_base, from[0].iov_len, MSG_NOSIGNAL),
                   Transfer::State::blocked);
  }
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(from.data());
  message.msg_iovlen = from.size();
  return outcome(sendmsg(socket_, &message, MSG_NOSIGNAL), Transfer::State::blocked);
}

// Only to our own user: somebody who passes on what two members say could keep the pages, and
// read later what they have become.
bool PlainStream::lends() const {
  if (!is_near_ || is_lending_refused_) return false;
  if (!is_peer_ours_) is_peer_ours_ = user_of_peer(socket_) == geteuid();
  return *is_peer_ours_;
}

Transfer PlainStream::lend(const iovec& from) {
  if (is_lending_refused_) return write({&from, 1});
  const Lent lent = lender_.lend(socket_, from);
  is_lending_refused_ = lent.refusal == Lent::Refusal::always;
  if (lent.bytes > 0) return {Transfer::State::moved, lent.bytes};
  if (lent.refusal != Lent::Refusal::none) return write({&from, 1});
  errno = lent.error;
  return outcome(-1, Transfer::State::blocked);
}

Error PlainStream::failure() const {
  if (error_ == EPIPE) return {Code::unavailable, "connection closed by peer"};
  return system_error(Code::unavailable, "connection lost", error_);
}

}  // namespace muster::drivers::tcp
