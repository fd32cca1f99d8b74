#include "muster/drivers/zmq/zmq_shared.h"

#include <algorithm>
#include <chrono>

#include <zmq.h>

namespace muster::drivers::zmq {
namespace {

constexpr std::size_t kKeptKeys = 2 * net::kMaxGenerations;

int to_ms(Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

}  // namespace

ZmqShared::ZmqShared(loop::Loop& the_loop, ZmqOptions the_options)
    : loop(the_loop), options(std::move(the_options)), resolver(the_loop), vigil(the_loop) {}

Result<std::vector<net::Token>> ZmqShared::tokens() {
  if (!options.tokens) {
    return Error(Code::unsupported, "it needs encryption, and the driver has no token");
  }
  return options.tokens->accepted();
}

const CurveKeys& ZmqShared::keys(const net::Token& token) {
  const auto known = std::ranges::find(keys_, token, &std::pair<net::Token, CurveKeys>::first);
  if (known != keys_.end()) return known->second;
  if (keys_.size() >= kKeptKeys) keys_.erase(keys_.begin());
  return keys_.emplace_back(token, curve_keys(token)).second;
}

Status ZmqShared::keep_doors() {
  if (doorkeeper_) return ok();
  auto made = std::make_unique<Doorkeeper>(
      loop, context.get(), [this](std::string_view domain, std::span<const std::byte> key) {
        for (const net::Token& token : options.tokens->accepted()) {
          if (domain_of(token) == domain && net::is_same(keys(token).client.open, key)) return true;
        }
        return false;
      });
  MUSTER_TRY_OK(made->start());
  doorkeeper_ = std::move(made);
  return ok();
}

void ZmqShared::prepare(Socket& socket) const {
  // Before anything is bound or connected: libzmq tells what it made for a peer
  // how long to linger when that peer goes, or its listener, which knows only what
  // was set before it was there. Unless told it is without end: what a lost peer
  // was to get is kept for ever, and the context never ends.
  socket.set(ZMQ_LINGER, kLingerMs);
  socket.set(ZMQ_SNDHWM, kMostHeld);
  socket.set(ZMQ_RCVHWM, kMostHeld);
  socket.set(ZMQ_HANDSHAKE_IVL, to_ms(options.handshake_timeout));
  socket.set(ZMQ_HEARTBEAT_IVL, to_ms(options.silence / 4));
  socket.set(ZMQ_HEARTBEAT_TIMEOUT, to_ms(options.silence));
  socket.set(ZMQ_IPV6, 1);
  const auto most = static_cast<std::int64_t>(kMaxMessage);
  socket.set(ZMQ_MAXMSGSIZE, std::as_bytes(std::span(&most, 1)));
}

std::unique_ptr<Monitor> ZmqShared::watch(Socket& socket, Monitor::Tell tell) {
  return std::make_unique<Monitor>(loop, context.get(), socket,
                                   "muster-monitor-" + std::to_string(++monitors_),
                                   std::move(tell));
}

void ZmqShared::warn(std::string_view event, std::string_view detail) {
  complaints_.warn(loop.now(), event, detail);
}

void ZmqShared::count_sent(std::uint64_t frames, std::uint64_t bytes) {
  if (!options.counters) return;
  options.counters->frames_sent.fetch_add(frames, std::memory_order_relaxed);
  options.counters->bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
}

void ZmqShared::count_received(std::uint64_t frames, std::uint64_t bytes) {
  if (!options.counters) return;
  options.counters->frames_received.fetch_add(frames, std::memory_order_relaxed);
  options.counters->bytes_received.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace muster::drivers::zmq
