#include "muster/drivers/zmq/dialed_line.h"

#include <utility>

#include <sys/epoll.h>
#include <zmq.h>

namespace muster::drivers::zmq {
namespace {

// Messages before others get their turn.
constexpr int kReadsInARow = 16;
// Addresses of one name that are tried.
constexpr std::size_t kMostAddresses = 4;

std::string endpoint_of(const net::SocketAddress& address) {
  return address.address().to_string();  // As tcp://... just as libzmq writes it.
}

}  // namespace

DialedLine::DialedLine(ZmqShared& shared, ZmqConnection& connection, net::Address to,
                       AddressPlan plan, std::vector<net::Token> tokens)
    : shared_(shared),
      connection_(connection),
      to_(std::move(to)),
      plan_(plan),
      tokens_(std::move(tokens)),
      timer_([this] {
        why_ = "nobody answered in time";
        ticket_ ? try_these(Error(Code::unavailable, "it took too long")) : try_next();
      }),
      more_(*this) {}

DialedLine::~DialedLine() { leave(); }

void DialedLine::start() {
  std::vector<net::SocketAddress> known = net::addresses_without_asking(to_);
  if (!known.empty()) return try_these(std::move(known));
  auto ticket = shared_.resolver.resolve(to_.host, to_.port, [this](net::Addresses found) {
    ticket_.reset();
    try_these(std::move(found));
  });
  if (!ticket) return try_these(std::move(ticket).error());
  ticket_ = *ticket;
  shared_.loop.start(timer_, shared_.loop.now() + shared_.options.connect_timeout);
}

void DialedLine::try_these(net::Addresses found) {
  if (ticket_) shared_.resolver.cancel(*std::exchange(ticket_, std::nullopt));
  if (!found) return connection_.end(std::move(found).error().during("dial " + to_.to_string()));
  if (found->size() > kMostAddresses) found->erase(found->begin() + kMostAddresses, found->end());
  std::vector<const net::Token*> tokens;
  for (const net::Token& token : tokens_) tokens.push_back(&token);
  if (!plan_.is_encrypted) tokens = {nullptr};
  for (const net::Token* const token : tokens) {
    for (const std::uint16_t port : {to_.port, plan_.second_port}) {
      if (port == 0) continue;
      for (const net::SocketAddress& address : *found) {
        attempts_.push_back({*net::SocketAddress::parse(address.host(), port), token});
      }
    }
  }
  try_next();
}

void DialedLine::try_next() {
  drop_socket(0);
  while (next_ < attempts_.size()) {
    const Status begun = begin(attempts_[next_++]);
    if (begun) return;
    why_ = begun.error().message();
    drop_socket(0);
  }
  connection_.end(Error(Code::unavailable, why_).during("dial " + to_.to_string()));
}

Status DialedLine::begin(const Attempt& attempt) {
  socket_ = std::make_unique<Socket>(shared_.context.get(), ZMQ_DEALER);
  if (!socket_->is_open()) return Error(Code::overloaded, zmq_strerror(zmq_errno()));
  shared_.prepare(*socket_);
  // Once only: whether to come back is for links to say.
  socket_->set(ZMQ_RECONNECT_IVL, -1);
  if (attempt.token != nullptr) {
    const CurveKeys& keys = shared_.keys(*attempt.token);
    socket_->set(ZMQ_CURVE_SERVERKEY, keys.server.open);
    socket_->set(ZMQ_CURVE_PUBLICKEY, keys.client.open);
    socket_->set(ZMQ_CURVE_SECRETKEY, keys.client.secret);
  }
  monitor_ = shared_.watch(*socket_, [this](const Happening& it) { on_happening(it); });
  MUSTER_TRY_OK(monitor_->start());
  const int descriptor = socket_->descriptor();
  MUSTER_TRY_OK(shared_.loop.watch(descriptor, EPOLLIN, *this));
  watching_ = descriptor;
  shared_.loop.start(timer_, shared_.loop.now() + shared_.options.connect_timeout);
  return socket_->connect(endpoint_of(attempt.address));
}

void DialedLine::on_happening(const Happening& happening) {
  switch (happening.kind) {
    case Happening::Kind::proved: return stand();
    case Happening::Kind::refused:
      why_ = "handshake: " + happening.why + "; do both have the same token?";
      return;
    case Happening::Kind::lost:
    case Happening::Kind::closed:
      if (!is_standing_) return try_next();
      // What came before is delivered first.
      for (int i = 0; i <= 2 * kMostHeld && !has_left_; ++i) pump();
      is_standing_ = false;
      return connection_.end(Error(Code::unavailable, "connection closed by peer"));
    case Happening::Kind::accepted: return;
  }
}

void DialedLine::stand() {
  shared_.loop.stop(timer_);
  is_standing_ = true;
  Packet hello = make_packet(PacketKind::hello);
  socket_->send(hello);
  connection_.stand();
  pump();
}

Sent DialedLine::send(Packet& packet) { return is_standing_ ? socket_->send(packet) : Sent::full; }

// Whatever asks libzmq anything may take the news that the descriptor tells of.
void DialedLine::settle() {
  if (has_left_) return;
  const Socket::Readiness ready = socket_->readiness();
  if (ready.to_read || (ready.to_write && connection_.is_blocked())) {
    shared_.loop.flush_soon(more_);
  }
}

void DialedLine::on_ready(std::uint32_t) {
  if (!is_standing_) {
    static_cast<void>(socket_->readiness());
    return;
  }
  pump();
}

void DialedLine::pump() {
  for (int i = 0; i < kReadsInARow; ++i) {
    if (has_left_) return;
    if (!socket_->receive(parts_)) return connection_.on_writable();
    connection_.take(parts_);
  }
  if (has_left_) return;
  shared_.loop.flush_soon(more_);
  connection_.on_writable();
}

void DialedLine::drop_socket(int linger_ms) {
  shared_.loop.stop(timer_);
  shared_.loop.forget(more_);
  if (watching_ >= 0) shared_.loop.unwatch(std::exchange(watching_, -1));
  monitor_.reset();
  if (socket_) socket_->close(linger_ms);
  socket_.reset();
}

void DialedLine::leave() {
  if (has_left_) return;
  has_left_ = true;
  if (ticket_) shared_.resolver.cancel(*ticket_);
  drop_socket(is_standing_ ? kLingerMs : 0);
}

}  // namespace muster::drivers::zmq
