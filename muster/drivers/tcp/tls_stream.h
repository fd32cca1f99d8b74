// TlsStream: TLS 1.3 over a connected socket, as OpenSSL does it.
//
// It shakes hands. Where the kernel is to encrypt it also moves the bytes; else that is
// a TlsRecordStream's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muster/drivers/tcp/stream.h"
#include "muster/drivers/tcp/tls_context.h"
#include "muster/drivers/tcp/tls_wire.h"
#include "muster/net/proof.h"
#include "muster/net/socket_address.h"

struct ssl_st;          // OpenSSL's SSL,
struct ssl_ctx_st;      // SSL_CTX,
struct ssl_session_st;  // and SSL_SESSION.

namespace muster::drivers::tcp {

using net::SocketAddress;

class TlsStream final : public Stream {
 public:
  // Both take over session and socket. The context outlives the stream.
  static std::unique_ptr<Stream> accept(TlsContext& context, ssl_st* session, int socket);
  static std::unique_ptr<Stream> connect(TlsContext& context, ssl_st* session, int socket,
                                         const std::string& host, std::size_t attempt);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Lets sessions of these contexts agree on the token's key, and on nothing
  // else.
  static void use_keys(ssl_ctx_st* client, ssl_ctx_st* server);
  // Sessions of this context tell their streams what the records are encrypted with.
  static void learn_secrets(ssl_ctx_st* context);

  // Code::invalid if the two ends do not trust each other: no use to try again.
  Handshake handshake() override;
  std::unique_ptr<Stream> successor() override;
  Transfer read(std::span<const iovec> into) override;
  Transfer write(std::span<const iovec> from) override;
  bool has_more() const override;
  Error failure() const override { return *failure_; }
  int descriptor() const override { return wire_.socket(); }

 private:
  struct FreeSession {
    void operator()(ssl_st* session) const;
  };
  struct Callbacks;  // That OpenSSL asks for keys.

  TlsStream(TlsContext& context, ssl_st* session, int socket);
  void verify_name(const std::string& host);
  void offer_key(std::size_t attempt);
  void leave_dials();

  ssl_session_st* find_key(std::string_view identity);
  void learn_secret(std::string_view line);

  Handshake settle();
  Error why_no_handshake(int kind) const;
  Error why_lost() const;
  bool encrypt(std::span<const iovec> from, std::size_t skipped);
  void count_records(std::size_t bytes);

  TlsContext& context_;
  TlsWire wire_;
  std::unique_ptr<ssl_st, FreeSession>
      session_;  // Before the wire goes, as OpenSSL may still ask it.
  std::optional<SocketAddress> dialed_from_;
  std::string identity_;  // That we offer.
  net::Key key_{};
  // What the two ends write with. Strangers that have not shaken hands have none.
  struct Learned {
    ~Learned();
    std::optional<TrafficSecret> client;
    std::optional<TrafficSecret> server;
  };
  std::unique_ptr<Learned> learned_;
  std::string refusal_;        // Why we take no key of the peer's.
  std::size_t ahead_ = 0;      // Bytes that are encrypted, but not all have left.
  int batches_ = 0;            // That were encrypted, up to as many as count.
  std::uint64_t records_ = 0;  // That this key has encrypted.
  std::optional<Error> failure_;
  bool may_still_read_ = false;  // It failed, but for what the peer sent before.
  bool is_open_ = false;
  bool was_filled_ = false;  // The last read: there may be more without asking the socket.
  bool has_ended_ = false;
};

}  // namespace muster::drivers::tcp
