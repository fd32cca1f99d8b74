// RawTls: OpenSSL by itself over a socket, as a stranger uses it.

#pragma once

#include <memory>
#include <string>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/net/proof.h"

namespace muster::drivers::tcp::testing {

class RawTls {
 public:
  // Takes over `socket`, which is connected, and makes it not block.
  RawTls(int socket, bool is_server)
      : context(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free),
        socket_(socket),
        is_server_(is_server) {
    fcntl(socket, F_SETFL, O_NONBLOCK);
  }
  ~RawTls() {
    session.reset();
    close(socket_);
  }
  RawTls(const RawTls&) = delete;
  RawTls& operator=(const RawTls&) = delete;

  // Offers, as a client, a key under an identity.
  void offer(std::string identity, const net::Key& key, const char* suite) {
    identity_ = std::move(identity);
    key_ = key;
    suite_ = suite;
    MUSTER_CHECK(SSL_CTX_set_ciphersuites(context.get(), suite) == 1, "a suite OpenSSL knows");
    SSL_CTX_set_psk_use_session_callback(context.get(), use_key);
  }

  // Goes on with the handshake; call it until is_over().
  void step() {
    if (session == nullptr) begin();
    if (is_over()) {
      char next = 0;
      // A server may refuse after the client is done.
      if (has_failed || SSL_read(session.get(), &next, 1) > 0) return;
      note(SSL_get_error(session.get(), 0));
      return;
    }
    ERR_clear_error();
    const int result = SSL_do_handshake(session.get());
    is_done = result == 1;
    if (!is_done) note(SSL_get_error(session.get(), result));
  }
  bool is_over() const { return is_done || has_failed; }

  std::shared_ptr<SSL_CTX> context;
  std::shared_ptr<SSL> session;
  bool is_done = false;
  bool has_failed = false;

 private:
  void begin() {
    session = {SSL_new(context.get()), SSL_free};
    SSL_set_app_data(session.get(), this);
    SSL_set_fd(session.get(), socket_);
    is_server_ ? SSL_set_accept_state(session.get()) : SSL_set_connect_state(session.get());
  }
  void note(int kind) {
    has_failed |= kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE;
    ERR_clear_error();
  }
  static int use_key(SSL* session, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                     SSL_SESSION** key) {
    const RawTls& self = *static_cast<RawTls*>(SSL_get_app_data(session));
    *identity = reinterpret_cast<const unsigned char*>(self.identity_.data());
    *size = self.identity_.size();
    *key = SSL_SESSION_new();
    SSL_SESSION_set1_master_key(*key, reinterpret_cast<const unsigned char*>(self.key_.data()),
                                self.key_.size());
    STACK_OF(SSL_CIPHER)* const suites = SSL_CTX_get_ciphers(self.context.get());
    for (int i = 0; i < sk_SSL_CIPHER_num(suites); ++i) {
      const SSL_CIPHER* const suite = sk_SSL_CIPHER_value(suites, i);
      if (self.suite_ == SSL_CIPHER_get_name(suite)) SSL_SESSION_set_cipher(*key, suite);
    }
    SSL_SESSION_set_protocol_version(*key, TLS1_3_VERSION);
    return 1;
  }

  int socket_;
  bool is_server_;
  std::string identity_;
  net::Key key_{};
  std::string suite_;
};

}  // namespace muster::drivers::tcp::testing
