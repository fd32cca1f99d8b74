#include "muster/drivers/zmq/monitor.h"

#include <chrono>
#include <cstring>
#include <utility>

#include <sys/epoll.h>
#include <zmq.h>

namespace muster::drivers::zmq {
namespace {

constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;

std::string why_not(std::uint32_t value) {
  if (value == 0) return "the other end hung up in the middle of it";
  return zmq_strerror(static_cast<int>(value));
}

Happening happening_of(std::uint16_t event, std::uint32_t value) {
  using Kind = Happening::Kind;
  const int descriptor = static_cast<int>(value);
  switch (event) {
    case ZMQ_EVENT_ACCEPTED: return {Kind::accepted, descriptor};
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: return {Kind::proved};
    case ZMQ_EVENT_DISCONNECTED: return {Kind::lost, descriptor};
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: return {Kind::refused, -1, why_not(value)};
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      return {Kind::refused, -1, "it does not speak as members do"};
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return {Kind::refused, -1, "it has another key than members have"};
    default: return {Kind::closed, descriptor};
  }
}

}  // namespace

Monitor::Monitor(loop::Loop& loop, void* context, Socket& watched, const std::string& name,
                 Tell tell)
    : loop_(loop),
      watched_(watched),
      endpoint_("inproc://" + name),
      events_(context, ZMQ_PAIR),
      tell_(std::make_shared<const Tell>(std::move(tell))) {}

Status Monitor::start() {
  const auto failed = [] { return Error(Code::overloaded, zmq_strerror(zmq_errno())); };
  if (!events_.is_open()) return failed();
  // No limit: libzmq's thread waits for room here, and would do nothing else.
  events_.set(ZMQ_RCVHWM, 0);
  if (zmq_socket_monitor(watched_.get(), endpoint_.c_str(), kEvents) != 0) return failed();
  MUSTER_TRY_OK(events_.connect(endpoint_));
  const int descriptor = events_.descriptor();
  MUSTER_TRY_OK(loop_.watch(descriptor, EPOLLIN, *this));
  watching_ = descriptor;
  bool is_closed = false;
  tell_all(is_closed);  // Asks once, so that the next news make the descriptor readable.
  return ok();
}

Monitor::~Monitor() {
  if (watching_ >= 0) loop_.unwatch(watching_);
  // First: whoever sends to a socket that is gone waits for ever.
  if (watched_.is_open()) zmq_socket_monitor(watched_.get(), nullptr, 0);
}

void Monitor::on_ready(std::uint32_t) {
  bool is_closed = false;
  tell_all(is_closed);
}

bool Monitor::tell_all(bool& is_closed) {
  const std::shared_ptr<const Tell> tell = tell_;
  Happening happening{};
  while (next(happening)) {
    is_closed |= happening.kind == Happening::Kind::closed;
    (*tell)(happening);
    if (tell.use_count() == 1) return false;
  }
  return true;
}

// An event is two parts: its number and a value, then an address.
bool Monitor::next(Happening& happening) {
  Message first;
  if (!first.receive(events_.get())) return false;
  Message second;
  if (first.has_more()) second.receive(events_.get());
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  if (first.size() != sizeof event + sizeof value) return false;
  std::memcpy(&event, first.bytes().data(), sizeof event);
  std::memcpy(&value, first.bytes().data() + sizeof event, sizeof value);
  happening = happening_of(event, value);
  return true;
}

void Monitor::wait_until_closed(Duration patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (bool is_closed = false; tell_all(is_closed) && !is_closed;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    zmq_pollitem_t one{events_.get(), 0, ZMQ_POLLIN, 0};
    zmq_poll(&one, 1, left.count());
  }
}

}  // namespace muster::drivers::zmq
