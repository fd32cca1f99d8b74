// A Redis of a test's own, on a free port of the loopback.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/registries/redis/redis.h"

namespace muster::registries::redis {

struct RedisServerOptions {
  std::string password = {};  // Of the default user.
  std::string acl_user = {};  // A line as for ACL SETUSER; the default user is off then.
  bool has_tls = false;
  bool asks_for_certificates = false;  // Of whoever comes, by TLS.
  bool keeps_data = false;             // Over a restart.
};

class RedisServer {
 public:
  explicit RedisServer(const RedisServerOptions& options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // Starts it, or starts it again on the same port, and waits until it is ready.
  void start();
  // With a chance to save what it has; else killed.
  void shut_down();
  void kill_it();
  void stop();  // SIGSTOP.
  void go_on();

  std::uint16_t port() const { return port_; }
  // Where the certificate lies that signs itself.
  std::string ca_file() const { return folder_ + "/cert.pem"; }
  std::string key_file() const { return folder_ + "/key.pem"; }
  // What redis-cli would print for `command`, asked as the first user.
  std::string ask(const std::string& command) const;

 private:
  void make_certificate() const;
  std::vector<std::string> arguments() const;
  void end(int signal);

  RedisServerOptions options_;
  std::string folder_;
  std::uint16_t port_ = 0;
  int pid_ = -1;
};

}  // namespace muster::registries::redis
