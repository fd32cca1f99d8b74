// RedisClient: one connection to Redis, from the first look-up of its host to
// its end. Commands are answered in order; what Redis says by itself is pushed.

#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/descriptor.h"
#include "muster/loop/loop.h"
#include "muster/net/resolver.h"
#include "muster/registries/redis/layout.h"
#include "muster/registries/redis/redis.h"
#include "muster/registries/redis/resp.h"
#include "muster/registries/redis/tls.h"

namespace muster::registries::redis {

class RedisClient;

class RedisClientSink {
 public:
  // Redis knows us: commands may be sent.
  virtual void on_ready() = 0;
  virtual void on_push(const Reply& push) = 0;
  // The last call, once, never from inside start() or send(). Code::invalid if
  // Redis does not let us in. The client may be destroyed here.
  virtual void on_gone(const Error& why) = 0;

 protected:
  ~RedisClientSink() = default;
};

// What all clients of one registry share. The resolver outlives them.
struct RedisSetting {
  RedisOptions options;
  TlsContext tls;  // Null without.
  net::Resolver& resolver;
};

class RedisClient final : private loop::FdHandler {
 public:
  using Done = std::function<void(const Reply&)>;

  // A reply that takes longer than `patience` ends the connection.
  RedisClient(loop::Loop& loop, const RedisSetting& setting, Duration patience,
              RedisClientSink& sink);
  ~RedisClient();  // Closes; nobody hears anything more.
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  void start();
  // `done` must not destroy the client. It is not called if the connection ends.
  void send(const Command& command, Done done);
  // What is published there is pushed from now on.
  void subscribe(const std::string& channel);
  // Ends the connection; on_gone() follows.
  void abandon(const Error& why) { fail(why); }

 private:
  struct Pending {
    Done done;
    TimePoint sent;
  };
  enum class State : std::uint8_t { looking_up, connecting, greeting, ready, gone };

  void try_these(net::Addresses addresses);
  void try_next();
  Status connect(const net::SocketAddress& address);
  void connected();
  void greet();
  void take_greeting(const Reply& reply);

  void on_ready(std::uint32_t events) override;
  void finish_connecting();
  void read();
  Status take(std::string_view bytes);
  void dispatch(Reply& reply);
  void write();
  void watch_for(std::uint32_t events);
  void drop_socket();
  void look_at_clock();
  void fail(const Error& why);

  loop::Loop& loop_;
  const RedisSetting& setting_;
  Duration patience_;
  RedisClientSink& sink_;
  State state_ = State::looking_up;
  std::optional<std::uint64_t> ticket_;
  std::vector<net::SocketAddress> addresses_;
  std::size_t next_ = 0;
  Descriptor socket_;
  std::uint32_t watched_ = 0;
  std::unique_ptr<Tls> tls_;
  RespReader reader_;
  std::string unsent_;    // Before encryption, until both ends have agreed on it.
  std::string outgoing_;  // As it goes over the network.
  std::deque<Pending> pending_;
  bool is_subscribing_ = false;
  Error why_{Code::unavailable, "the host has no address"};
  loop::Timer timer_;      // The connection's, then the replies' deadline.
  loop::Timer end_timer_;  // Tells the end from outside of everything.
};

}  // namespace muster::registries::redis
