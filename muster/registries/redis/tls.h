// Tls: one encrypted conversation, bytes in and bytes out. No socket here.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/registries/redis/redis.h"

struct ssl_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's.
struct ssl_st;      // NOLINT(readability-identifier-naming)

namespace muster::registries::redis {

using TlsContext = std::shared_ptr<ssl_ctx_st>;

// Code::invalid if a file cannot be used.
Result<TlsContext> make_tls_context(const RedisTls& options);

class Tls {
 public:
  // As the client. Only who has a certificate for `server_name`, a host name or
  // a numeric address, is talked to.
  static Result<std::unique_ptr<Tls>> start(const TlsContext& context,
                                            const std::string& server_name);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Both ends have agreed; send() may be called.
  bool is_up() const { return is_up_; }
  // Takes what came over the network, and adds what it says to `plain`.
  Status receive(std::string_view encrypted, std::string& plain);
  Status send(std::string_view plain);
  // What is to go over the network now.
  std::string take_outgoing();

 private:
  explicit Tls(ssl_st* session) : session_(session) {}
  Status shake_hands();
  Error failure(const char* attempt) const;

  ssl_st* session_;
  bool is_up_ = false;
};

}  // namespace muster::registries::redis
