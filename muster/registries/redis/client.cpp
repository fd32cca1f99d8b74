#include "muster/registries/redis/client.h"

#include <array>
#include <cerrno>

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace muster::registries::redis {
namespace {

using net::Addresses;
using net::SocketAddress;

constexpr std::size_t kMostUnsent = std::size_t{16} << 20;

// What Redis says when it will not have us, whatever we try again.
bool is_refusal(const std::string& text) {
  return text.starts_with("WRONGPASS") || text.starts_with("NOAUTH") ||
         text.starts_with("NOPERM") || text.starts_with("ERR AUTH") ||
         text.starts_with("NOPROTO") || text.starts_with("ERR unknown command") ||
         text.starts_with("ERR DB index") || text.starts_with("ERR invalid DB index");
}

std::vector<SocketAddress> numeric(const std::string& host, std::uint16_t port) {
  if (host == "localhost") {
    return {*SocketAddress::parse("127.0.0.1", port), *SocketAddress::parse("::1", port)};
  }
  if (const auto address = SocketAddress::parse(host, port)) return {*address};
  return {};
}

}  // namespace

RedisClient::RedisClient(loop::Loop& loop, const RedisSetting& setting, Duration patience,
                         RedisClientSink& sink)
    : loop_(loop),
      setting_(setting),
      patience_(patience),
      sink_(sink),
      timer_([this] { look_at_clock(); }),
      end_timer_([this] { sink_.on_gone(Error(why_)); }) {}

RedisClient::~RedisClient() {
  if (ticket_) setting_.resolver.cancel(*ticket_);
  drop_socket();
}

void RedisClient::start() {
  const RedisOptions& options = setting_.options;
  loop_.start(timer_, loop_.now() + options.connect_timeout);
  if (auto known = numeric(options.host, options.port); !known.empty()) {
    return try_these(std::move(known));
  }
  auto ticket = setting_.resolver.resolve(options.host, options.port, [this](Addresses addresses) {
    ticket_.reset();
    try_these(std::move(addresses));
  });
  if (!ticket) return fail(ticket.error());
  ticket_ = *ticket;
}

void RedisClient::try_these(Addresses addresses) {
  if (!addresses) return fail(addresses.error());
  addresses_ = *std::move(addresses);
  try_next();
}

void RedisClient::try_next() {
  state_ = State::connecting;
  while (next_ < addresses_.size()) {
    drop_socket();
    const Status begun = connect(addresses_[next_++]);
    if (begun) return;  // on_ready() goes on.
    why_ = begun.error();
  }
  fail(why_);
}

Status RedisClient::connect(const SocketAddress& address) {
  socket_ = Descriptor(
      ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket_) return system_error(Code::overloaded, "make a socket", errno);
  const int on = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket_.get(), address.data(), address.size()) != 0 && errno != EINPROGRESS) {
    return system_error(Code::unavailable, "connect", errno);
  }
  MUSTER_TRY_OK(loop_.watch(socket_.get(), EPOLLOUT, *this));
  watched_ = EPOLLOUT;
  return ok();
}

void RedisClient::finish_connecting() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  const auto peer = SocketAddress::of_peer(socket_.get());
  if (error == 0 && !peer) return;  // Called once too often.
  // A port that nobody listens on may be given to this very socket.
  if (error == 0 && peer == SocketAddress::of_local(socket_.get())) error = ECONNREFUSED;
  if (error == 0) return connected();
  why_ = system_error(Code::unavailable, "connect", error);
  try_next();
}

void RedisClient::connected() {
  state_ = State::greeting;
  watch_for(EPOLLIN);
  if (setting_.tls) {
    const RedisOptions& options = setting_.options;
    auto tls = Tls::start(setting_.tls,
                          options.tls.server_name.empty() ? options.host : options.tls.server_name);
    if (!tls) return fail(tls.error());
    tls_ = *std::move(tls);
  }
  greet();
}

void RedisClient::greet() {
  const RedisOptions& options = setting_.options;
  Command hello{"HELLO", "3"};
  if (!options.password.empty()) {
    hello.insert(hello.end(), {"AUTH", options.username.empty() ? "default" : options.username,
                               options.password});
  }
  const bool has_more = options.database != 0;
  send(hello, [this, has_more](const Reply& reply) {
    if (reply.is_error() || !has_more) return take_greeting(reply);
  });
  if (has_more) {
    send({"SELECT", std::to_string(options.database)},
         [this](const Reply& reply) { take_greeting(reply); });
  }
}

void RedisClient::take_greeting(const Reply& reply) {
  if (state_ != State::greeting) return;
  if (reply.is_error()) {
    const Code code = is_refusal(reply.text) ? Code::invalid : Code::unavailable;
    return fail(Error(code, "Redis said " + reply.text.substr(0, 200)));
  }
  state_ = State::ready;
  loop_.start(timer_, loop_.now() + patience_);
  sink_.on_ready();
}

void RedisClient::send(const Command& command, Done done) {
  if (state_ == State::gone) return;
  unsent_ += encode_command(command);
  pending_.push_back({std::move(done), loop_.now()});
  if (unsent_.size() + outgoing_.size() > kMostUnsent) {
    return fail(Error(Code::overloaded, "Redis does not read what it is told"));
  }
  write();
}

void RedisClient::subscribe(const std::string& channel) {
  // Answered by a push, or by an error in the place of a reply.
  send({"SUBSCRIBE", channel}, [this](const Reply& reply) {
    if (reply.is_error()) fail(Error(Code::invalid, "Redis said " + reply.text.substr(0, 200)));
  });
  is_subscribing_ = true;
}

void RedisClient::on_ready(std::uint32_t events) {
  if (state_ == State::connecting) return finish_connecting();
  if ((events & EPOLLOUT) != 0) write();
  if (state_ != State::gone && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read();
}

void RedisClient::read() {
  std::array<char, 65536> bytes;
  const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size == 0) return fail(Error(Code::unavailable, "Redis closed the connection"));
  if (size < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
    return fail(system_error(Code::unavailable, "read from Redis", errno));
  }
  if (const Status status = take({bytes.data(), static_cast<std::size_t>(size)}); !status) {
    // Not Redis, or one that is ill: another try may find it well.
    return fail(Error(Code::unavailable, status.error().message()));
  }
  if (state_ != State::gone) write();  // TLS may have an answer, or be up now.
}

Status RedisClient::take(std::string_view bytes) {
  std::string plain;
  if (tls_) {
    MUSTER_TRY_OK(tls_->receive(bytes, plain));
    bytes = plain;
  }
  std::vector<Reply> replies;
  MUSTER_TRY_OK(reader_.feed(bytes, replies));
  for (Reply& reply : replies) {
    if (state_ == State::gone) return ok();
    if (reply.kind != Reply::Kind::push && pending_.empty()) {
      return Error(Code::invalid, "Redis answered what nobody had asked");
    }
    dispatch(reply);
  }
  return ok();
}

void RedisClient::dispatch(Reply& reply) {
  if (reply.kind == Reply::Kind::push) {
    const bool is_subscribed = !reply.items.empty() && reply.items[0].text == "subscribe";
    if (!is_subscribed || !std::exchange(is_subscribing_, false)) return sink_.on_push(reply);
    if (pending_.empty()) return;
  }
  const Pending pending = std::move(pending_.front());
  pending_.pop_front();
  if (pending.done) pending.done(reply);
}

void RedisClient::write() {
  if (state_ == State::looking_up || state_ == State::connecting || state_ == State::gone) return;
  if (tls_) {
    if (tls_->is_up()) {
      if (const Status status = tls_->send(std::exchange(unsent_, {})); !status) {
        return fail(status.error());
      }
    }
    outgoing_ += tls_->take_outgoing();
  } else {
    outgoing_ += std::exchange(unsent_, {});
  }
  while (!outgoing_.empty()) {
    const ssize_t size =
        ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (size < 0) return fail(system_error(Code::unavailable, "write to Redis", errno));
    outgoing_.erase(0, static_cast<std::size_t>(size));
  }
  watch_for(EPOLLIN | (outgoing_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT)));
}

void RedisClient::watch_for(std::uint32_t events) {
  if (watched_ == events) return;
  loop_.change(socket_.get(), events);
  watched_ = events;
}

void RedisClient::drop_socket() {
  if (watched_ != 0) loop_.unwatch(socket_.get());
  watched_ = 0;
  socket_.reset();
}

void RedisClient::look_at_clock() {
  if (state_ != State::ready) return fail(Error(Code::unavailable, "Redis did not answer in time"));
  const TimePoint now = loop_.now();
  // One who was held up has not read the replies, either.
  const bool was_held_up = now - timer_.due() > patience_ / 2;
  if (!was_held_up && !pending_.empty() && now - pending_.front().sent > patience_) {
    return fail(Error(Code::timeout, "Redis says nothing any more"));
  }
  loop_.start(timer_, now + patience_ / 4);
}

void RedisClient::fail(const Error& why) {
  if (state_ == State::gone) return;
  state_ = State::gone;
  why_ = why.during("talk to Redis at " + setting_.options.host + ":" +
                    std::to_string(setting_.options.port));
  if (ticket_) setting_.resolver.cancel(*ticket_);
  ticket_.reset();
  loop_.stop(timer_);
  drop_socket();
  pending_.clear();
  loop_.start(end_timer_, loop_.now());
}

}  // namespace muster::registries::redis
