#include "muster/drivers/zmq/socket.h"

#include <array>
#include <cerrno>
#include <utility>

#include <zmq.h>

#include "muster/base/check.h"

namespace muster::drivers::zmq {
namespace {

// A routing id, a packet and its parts.
constexpr std::size_t kMostParts = 2 + wire::kMaxParts;

Error why(std::string_view attempt) {
  return Error(Code::unavailable, zmq_strerror(zmq_errno())).during(attempt);
}

}  // namespace

Socket::Socket(void* context, int type) : socket_(zmq_socket(context, type)) {}

void Socket::close(int linger_ms) {
  if (socket_ == nullptr) return;
  set(ZMQ_LINGER, linger_ms);
  zmq_close(std::exchange(socket_, nullptr));
}

void Socket::set(int option, int value) {
  const int done = zmq_setsockopt(socket_, option, &value, sizeof value);
  MUSTER_CHECK(done == 0, "libzmq knows the option");
}

void Socket::set(int option, std::span<const std::byte> value) {
  const int done = zmq_setsockopt(socket_, option, value.data(), value.size());
  MUSTER_CHECK(done == 0, "libzmq knows the option");
}

Status Socket::bind(const std::string& endpoint) {
  if (zmq_bind(socket_, endpoint.c_str()) != 0) return why("zmq_bind");
  return ok();
}

Status Socket::connect(const std::string& endpoint) {
  if (zmq_connect(socket_, endpoint.c_str()) != 0) return why("zmq_connect");
  return ok();
}

std::string Socket::endpoint() const {
  std::array<char, 256> text{};
  std::size_t size = text.size();
  zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text.data(), &size);
  return text.data();
}

int Socket::descriptor() const {
  int descriptor = -1;
  std::size_t size = sizeof descriptor;
  zmq_getsockopt(socket_, ZMQ_FD, &descriptor, &size);
  return descriptor;
}

Socket::Readiness Socket::readiness() const {
  int events = 0;
  std::size_t size = sizeof events;
  uninterrupted([&] { return zmq_getsockopt(socket_, ZMQ_EVENTS, &events, &size); });
  return {(events & ZMQ_POLLIN) != 0, (events & ZMQ_POLLOUT) != 0};
}

Sent Socket::send(Packet& packet, std::span<const std::byte> to) {
  const auto failed = [](bool is_first) {
    return errno == EAGAIN || (is_first && errno == EINTR) ? Sent::full : Sent::gone;
  };
  if (!to.empty() && !Message::copy_of(to).send(socket_, true)) return failed(true);
  if (!Message::copy_of(packet.bytes).send(socket_, !packet.parts.empty())) {
    return failed(to.empty());
  }
  // From here on libzmq takes whatever belongs to the message.
  for (std::size_t i = 0; i < packet.parts.size(); ++i) {
    const bool more = i + 1 < packet.parts.size();
    if (!Message::wrap(std::move(packet.parts[i])).send(socket_, more)) return Sent::gone;
  }
  return Sent::all;
}

bool Socket::receive(std::vector<Message>& parts) {
  parts.clear();
  for (bool more = true; more;) {
    Message part;
    if (!part.receive(socket_)) return false;
    more = part.has_more();
    if (parts.size() < kMostParts) parts.push_back(std::move(part));
  }
  return true;
}

}  // namespace muster::drivers::zmq
