#include "muster/drivers/zmq/zmq_listener.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace muster::drivers::zmq {
namespace {

// Connections that wait to be taken in; the system may cut it.
constexpr int kBacklog = 1024;
// Given to the kernel for each direction; it takes memory only for bytes that wait.
constexpr int kKernelBuffer = 2 << 20;

void set(int socket, int option, int value) {
  setsockopt(socket, SOL_SOCKET, option, &value, sizeof value);
}

// A socket at exactly this address, which nobody else can have. Two that reuse an
// address may share it as long as neither listens, so one that only holds its port does
// not, unless connections of an earlier process are left there.
Result<Descriptor> bind_at(const net::SocketAddress& address) {
  Descriptor made(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return system_error(Code::overloaded, "make a socket", errno);
  // What is accepted inherits them.
  set(made.get(), SO_SNDBUF, kKernelBuffer);
  set(made.get(), SO_RCVBUF, kKernelBuffer);
  if (bind(made.get(), address.data(), address.size()) == 0) return made;
  set(made.get(), SO_REUSEADDR, 1);
  if (bind(made.get(), address.data(), address.size()) == 0) return made;
  return system_error(Code::unavailable, "bind", errno);
}

Status start_listening(int socket) {
  // For the connections, which may outlast the process.
  set(socket, SO_REUSEADDR, 1);
  if (listen(socket, kBacklog) != 0) return system_error(Code::unavailable, "listen", errno);
  return ok();
}

Result<Descriptor> bind_and_listen(const net::SocketAddress& address) {
  MUSTER_TRY(Descriptor made, bind_at(address));
  MUSTER_TRY_OK(start_listening(made.get()));
  return made;
}

// The first free port of the range.
Result<Descriptor> bind_in_range(const net::Address& address) {
  const bool is_range = address.last_port != address.port;
  for (int port = address.port;; ++port) {
    const auto here = net::addresses_without_asking(
        {address.scheme, address.host, static_cast<std::uint16_t>(port), 0});
    Result<Descriptor> socket = bind_and_listen(here.front());
    if (socket || !is_range) return socket;
    if (port == address.last_port) {
      return Error(Code::unavailable,
                   "no port of the range is free; the last said: " + socket.error().message());
    }
  }
}

}  // namespace

Result<std::unique_ptr<net::Listener>> ZmqListener::open(ZmqShared& shared,
                                                         const net::Address& address,
                                                         net::Driver::Accept accept) {
  const auto during = [&](const Error& why) {
    return why.during("listen on " + address.to_string());
  };
  Result<AddressPlan> plan = plan_for(address);
  if (!plan) return during(plan.error());
  if (net::addresses_without_asking(address).empty()) {
    return during(Error(Code::invalid, "a listener needs a numeric address or localhost"));
  }
  if (plan->is_encrypted) {
    if (const auto tokens = shared.tokens(); !tokens) return during(tokens.error());
  }
  std::unique_ptr<ZmqListener> made(new ZmqListener(shared, std::move(accept)));
  Result<Descriptor> socket = bind_in_range(address);
  if (!socket) return during(socket.error());
  made->ports_[0].socket = *std::move(socket);
  const auto bound = *net::SocketAddress::of_local(made->ports_[0].socket.get());
  if (plan->is_encrypted) {
    Result<Descriptor> second =
        bind_at(*net::SocketAddress::parse(bound.host(), plan->second_port));
    if (!second) return during(std::move(second).error().during("the second port"));
    made->ports_[1].socket = *std::move(second);
    plan->second_port = net::SocketAddress::of_local(made->ports_[1].socket.get())->port();
  }
  made->address_ = bound.address("zmq");
  made->address_.host = shared.options.advertised_host;
  if (made->address_.host.empty()) made->address_.host = net::host_to_tell(bound);
  made->address_.options = options_of(*plan);
  if (plan->is_encrypted) {
    made->refresh();
  } else if (const Status served = made->serve_plainly(); !served) {
    return during(served.error());
  }
  if (!made->ports_[0].station) return during(Error(Code::overloaded, "libzmq has no socket left"));
  return std::unique_ptr<net::Listener>(std::move(made));
}

ZmqListener::ZmqListener(ZmqShared& shared, net::Driver::Accept accept)
    : shared_(shared),
      accept_(std::make_shared<net::Driver::Accept>(std::move(accept))),
      refresh_([this] { refresh(); }) {}

ZmqListener::~ZmqListener() {
  shared_.loop.stop(refresh_);
  for (Port& port : ports_) {
    if (port.station) port.station->stop_listening();
  }
}

Result<std::shared_ptr<Station>> ZmqListener::open_station(
    const Port& port, const std::optional<StationKeys>& keys) const {
  return Station::open(shared_, port.socket.get(), keys, address_.to_string(), accept_);
}

Status ZmqListener::serve_plainly() {
  MUSTER_TRY(ports_[0].station, open_station(ports_[0], std::nullopt));
  return ok();
}

void ZmqListener::refresh() {
  const std::vector<net::Token> tokens = shared_.options.tokens->accepted();
  const std::size_t served = std::min(tokens.size(), ports_.size());
  for (std::size_t i = 0; i < served; ++i) {
    Port* const port = port_for(tokens[i], tokens[served - 1 - i]);
    if (port == nullptr) continue;
    if (const Status done = serve(*port, tokens[i]); !done) {
      shared_.warn("token not served",
                   "at " + address_.to_string() + "  why " + done.error().message());
    }
  }
  shared_.loop.start(refresh_, shared_.loop.now() + shared_.options.token_refresh);
}

// Null if it is served already. Never the port of `other`, if that differs; else one that is free,
// or the one of the oldest.
ZmqListener::Port* ZmqListener::port_for(const net::Token& token, const net::Token& other) {
  Port* free = nullptr;
  for (Port& port : ports_) {
    if (port.token == token) return nullptr;
    if (port.token == other) continue;
    const bool is_older = free != nullptr && free->token &&
                          (!port.token || port.token->generation < free->token->generation);
    if (free == nullptr || is_older) free = &port;
  }
  return free;
}

Status ZmqListener::serve(Port& port, const net::Token& token) {
  if (port.station) port.station->stop();
  port.station.reset();
  port.token.reset();
  MUSTER_TRY_OK(start_listening(port.socket.get()));
  const StationKeys keys{shared_.keys(token).server.secret, domain_of(token)};
  MUSTER_TRY(port.station, open_station(port, keys));
  port.token = token;
  return ok();
}

}  // namespace muster::drivers::zmq
