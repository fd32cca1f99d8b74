#include "muster/drivers/tcp/tls_outgoing.h"

#include <cerrno>

#include <sys/socket.h>

namespace muster::drivers::tcp {

// How many bytes the socket took.
std::size_t TlsOutgoing::send_some(std::span<const std::byte> bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t took = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (took < 0 && errno == EINTR) continue;
    if (took < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) error_ = errno;
      break;
    }
    sent += static_cast<std::size_t>(took);
  }
  return sent;
}

bool TlsOutgoing::flush() {
  if (has_unsent()) {
    sent_ += send_some(std::span(unsent_).subspan(sent_));
    if (sent_ == unsent_.size()) {
      unsent_ = {};
      sent_ = 0;
    }
  }
  std::span<const std::byte> fresh = gathered_.bytes();
  if (!fresh.empty() && error_ == 0) {
    if (!has_unsent()) fresh = fresh.subspan(send_some(fresh));
    unsent_.insert(unsent_.end(), fresh.begin(), fresh.end());
  }
  gathered_.clear();
  return error_ == 0;
}

}  // namespace muster::drivers::tcp
