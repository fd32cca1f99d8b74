#include "muster/drivers/tcp/tls_context.h"

#include <algorithm>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tls_stream.h"

namespace muster::drivers::tcp {
namespace {

// The fastest here by far, and one is enough.
constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";

Error cannot(const std::string& what) {
  const std::string why = take_tls_error();
  return {Code::invalid, what + ": " + (why.empty() ? "OpenSSL does not say why" : why)};
}

Result<ContextPointer> make_context(const SSL_METHOD* method, const TlsOptions& options) {
  ERR_clear_error();
  ContextPointer made(SSL_CTX_new(method));
  if (!made || SSL_CTX_set_min_proto_version(made.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(made.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(made.get(), kSuite) != 1) {
    return cannot("set up TLS 1.3 with AES-128-GCM");
  }
  SSL_CTX_set_options(made.get(),
                      SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (options.use_kernel) SSL_CTX_set_options(made.get(), SSL_OP_ENABLE_KTLS);
  // A resumed session would not show whether its token is still accepted.
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(made.get(), 0);
  SSL_CTX_set_max_early_data(made.get(), 0);
  SSL_CTX_set_mode(made.get(), SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  return made;
}

Status use_certificates(SSL_CTX* context, const TlsOptions& options) {
  // A key that only a password opens cannot be used: OpenSSL would ask for it at the
  // terminal, and everything here would wait.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) != 1) {
    return cannot("use the CA file " + options.ca_file);
  }
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate_file.c_str()) != 1) {
    return cannot("use the certificate " + options.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return cannot("use the key " + options.key_file);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return ok();
}

Status check(const TlsOptions& options) {
  const int files = static_cast<int>(!options.ca_file.empty()) +
                    static_cast<int>(!options.certificate_file.empty()) +
                    static_cast<int>(!options.key_file.empty());
  if (files != 0 && files != 3) {
    return Error(Code::invalid, "certificates need all of a CA, a certificate and its key");
  }
  if (files == 0 && !options.tokens) {
    return Error(Code::unsupported, "the driver has neither a token nor certificates");
  }
  return ok();
}

// The same for an IPv4 address, however the socket writes it.
std::string text_of(const SocketAddress& address) {
  std::string host = address.host();
  constexpr std::string_view kMapped = "::ffff:";
  if (host.starts_with(kMapped)) host.erase(0, kMapped.size());
  return host + " " + std::to_string(address.port());
}

}  // namespace

void FreeContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

std::string take_tls_error() {
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  if (last == 0) return {};
  const char* const reason = ERR_reason_error_string(last);
  return reason == nullptr ? "error " + std::to_string(ERR_GET_REASON(last)) : reason;
}

Result<std::unique_ptr<TlsContext>> TlsContext::make(TlsOptions options) {
  MUSTER_TRY_OK(check(options));
  std::unique_ptr<TlsContext> made(new TlsContext(std::move(options)));
  MUSTER_TRY(made->client_, make_context(TLS_client_method(), made->options_));
  MUSTER_TRY(made->server_, make_context(TLS_server_method(), made->options_));
  if (!made->options_.use_kernel) {
    TlsStream::learn_secrets(made->client_.get());
    TlsStream::learn_secrets(made->server_.get());
  }
  if (made->uses_certificates()) {
    MUSTER_TRY_OK(use_certificates(made->client_.get(), made->options_));
    MUSTER_TRY_OK(use_certificates(made->server_.get(), made->options_));
    return made;
  }
  TlsStream::use_keys(made->client_.get(), made->server_.get());
  // A server that shows a certificate instead of knowing the key is not
  // believed: there is nobody whom we would believe.
  SSL_CTX_set_verify(made->client_.get(), SSL_VERIFY_PEER, nullptr);
  return made;
}

std::unique_ptr<Stream> TlsContext::accept(int socket) {
  SSL* const session = SSL_new(server_.get());
  MUSTER_CHECK(session != nullptr, "there is memory for a connection");
  return TlsStream::accept(*this, session, socket);
}

std::unique_ptr<Stream> TlsContext::connect(int socket, const std::string& host,
                                            std::size_t attempt) {
  SSL* const session = SSL_new(client_.get());
  MUSTER_CHECK(session != nullptr, "there is memory for a connection");
  return TlsStream::connect(*this, session, socket, host, attempt);
}

std::size_t TlsContext::attempts() const {
  return uses_certificates() ? 1 : options_.tokens->accepted().size();
}

void TlsContext::add_dial(const SocketAddress& from) { dials_.push_back(text_of(from)); }

void TlsContext::remove_dial(const SocketAddress& from) {
  const auto found = std::ranges::find(dials_, text_of(from));
  if (found != dials_.end()) dials_.erase(found);
}

bool TlsContext::is_own_dial(const SocketAddress& from) const {
  return std::ranges::find(dials_, text_of(from)) != dials_.end();
}

}  // namespace muster::drivers::tcp
