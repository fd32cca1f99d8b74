// TlsContext: what all encrypted connections of one driver have in common.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/id.h"
#include "muster/base/result.h"
#include "muster/drivers/tcp/stream.h"
#include "muster/drivers/tcp/tls_options.h"
#include "muster/drivers/tcp/tls_record_stream.h"
#include "muster/net/socket_address.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX.

namespace muster::drivers::tcp {

using net::SocketAddress;

struct FreeContext {
  void operator()(ssl_ctx_st* context) const;
};
using ContextPointer = std::unique_ptr<ssl_ctx_st, FreeContext>;

class TlsContext {
 public:
  // Code::unsupported if the options name neither tokens nor certificates,
  // Code::invalid if a file cannot be used.
  static Result<std::unique_ptr<TlsContext>> make(TlsOptions options);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A stream over a connected socket, which it takes over: as the one who was
  // called, and as the one who calls `host`. A caller offers one generation of
  // the token, the newest if `attempt` is 0.
  std::unique_ptr<Stream> accept(int socket);
  std::unique_ptr<Stream> connect(int socket, const std::string& host, std::size_t attempt);
  // How many attempts make sense.
  std::size_t attempts() const;

  // For streams, all below.
  bool uses_certificates() const { return !options_.ca_file.empty(); }
  const TlsOptions& options() const { return options_; }
  Id id() const { return id_; }
  Gathered& gathered() { return gathered_; }
  TlsIncoming& incoming() { return incoming_; }
  std::vector<std::byte>& joined() { return joined_; }

  // Dials of our own that are under way, by the address they come from: only
  // such a one may know us by our own id.
  void add_dial(const SocketAddress& from);
  void remove_dial(const SocketAddress& from);
  bool is_own_dial(const SocketAddress& from) const;

 private:
  explicit TlsContext(TlsOptions options) : options_(std::move(options)) {}

  TlsOptions options_;
  Id id_ = Id::random();
  ContextPointer client_;
  ContextPointer server_;
  std::vector<std::string> dials_;
  Gathered gathered_;  // Lent to one stream at a time, as are the next two.
  TlsIncoming incoming_;
  std::vector<std::byte> joined_;
};

// What OpenSSL says went wrong last on this thread; empty if nothing did. Also
// forgets it.
std::string take_tls_error();

}  // namespace muster::drivers::tcp
