// The Redis registry: components on many hosts find each other in a Redis 6 or
// later, laid out as MARO does, with leases.
//
// docs/reference/registries.md has the keys. Links that stand do not need
// Redis: while it is away, what it said last counts.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"

namespace muster::registries {

struct RedisTls {
  bool is_on = false;
  std::string ca_file = {};      // Who may sign Redis's certificate; empty: the system's.
  std::string cert_file = {};    // Our own, where Redis asks for one.
  std::string key_file = {};     // Its key.
  std::string server_name = {};  // What the certificate must name; empty: the host.
};

struct RedisOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string username = {};  // Empty: the default user.
  std::string password = {};  // Empty: none is asked for.
  int database = 0;
  RedisTls tls = {};
  // How long a connection, with all that must be said first, may take.
  Duration connect_timeout = std::chrono::seconds(5);

  // redis://[user[:password]@]host[:port][/database]; rediss:// with TLS. A
  // password without a user: redis://:password@host. %XX stands for a byte.
  // Code::invalid says what is wrong, without the password.
  static Result<RedisOptions> parse(std::string_view url);
};

// Needs the baton, as does the registry's end. The loop outlives the registry.
// Code::invalid if a file for TLS cannot be used.
Result<std::unique_ptr<msg::Registry>> make_redis_registry(loop::Loop& loop, RedisOptions options);

}  // namespace muster::registries
