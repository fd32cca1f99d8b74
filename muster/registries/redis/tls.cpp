#include "muster/registries/redis/tls.h"

#include <array>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace muster::registries::redis {
namespace {

Error file_error(const std::string& file, const char* what) {
  ERR_clear_error();
  return Error(Code::invalid,
               std::string("use ") + file + " as " + what + ": it cannot be read as such");
}

bool is_numeric(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

Result<TlsContext> make_tls_context(const RedisTls& options) {
  TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!context) return Error(Code::internal, "make a TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // A key that only a password opens cannot be used: OpenSSL would ask for it at the
  // terminal, and everything here would wait.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) != 1) {
    return file_error(options.ca_file, "the authority's certificate");
  }
  if (!options.cert_file.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context.get(), options.cert_file.c_str()) != 1) {
      return file_error(options.cert_file, "our certificate");
    }
    if (SSL_CTX_use_PrivateKey_file(context.get(), options.key_file.c_str(), SSL_FILETYPE_PEM) !=
        1) {
      return file_error(options.key_file, "our certificate's key");
    }
  }
  return context;
}

Result<std::unique_ptr<Tls>> Tls::start(const TlsContext& context, const std::string& server_name) {
  std::unique_ptr<Tls> made(new Tls(SSL_new(context.get())));
  if (made->session_ == nullptr) return Error(Code::internal, "begin TLS");
  SSL* const session = made->session_;
  SSL_set_bio(session, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(session);
  const bool is_named =
      is_numeric(server_name)
          ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), server_name.c_str()) == 1
          : SSL_set1_host(session, server_name.c_str()) == 1 &&
                SSL_set_tlsext_host_name(session, server_name.c_str()) == 1;
  if (!is_named) return Error(Code::invalid, "begin TLS: the server's name cannot be used");
  MUSTER_TRY_OK(made->shake_hands());
  return made;
}

Tls::~Tls() { SSL_free(session_); }

Status Tls::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_);
  is_up_ = result == 1;
  if (is_up_ || SSL_get_error(session_, result) == SSL_ERROR_WANT_READ) return ok();
  return failure("agree on TLS");
}

Status Tls::receive(std::string_view encrypted, std::string& plain) {
  // Takes all of it: the memory behind it grows.
  BIO_write(SSL_get_rbio(session_), encrypted.data(), static_cast<int>(encrypted.size()));
  if (!is_up_) MUSTER_TRY_OK(shake_hands());
  if (!is_up_) return ok();
  std::array<char, 16384> bytes;
  for (;;) {
    ERR_clear_error();
    const int size = SSL_read(session_, bytes.data(), static_cast<int>(bytes.size()));
    if (size > 0) {
      plain.append(bytes.data(), static_cast<std::size_t>(size));
      continue;
    }
    const int error = SSL_get_error(session_, size);
    if (error == SSL_ERROR_WANT_READ) return ok();
    if (error == SSL_ERROR_ZERO_RETURN) return Error(Code::unavailable, "Redis has ended TLS");
    return failure("read from TLS");
  }
}

Status Tls::send(std::string_view plain) {
  if (plain.empty()) return ok();
  ERR_clear_error();
  if (SSL_write(session_, plain.data(), static_cast<int>(plain.size())) > 0) return ok();
  return failure("write to TLS");
}

std::string Tls::take_outgoing() {
  std::string bytes(BIO_ctrl_pending(SSL_get_wbio(session_)), '\0');
  if (bytes.empty()) return bytes;
  const int size = BIO_read(SSL_get_wbio(session_), bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

Error Tls::failure(const char* attempt) const {
  const long verdict = SSL_get_verify_result(session_);
  std::string why = "the other end does not speak it";
  if (verdict != X509_V_OK) {
    why = X509_verify_cert_error_string(verdict);
  } else if (const unsigned long error = ERR_get_error(); error != 0) {
    if (const char* const reason = ERR_reason_error_string(error)) why = reason;
  }
  ERR_clear_error();
  return Error(Code::unavailable, std::string(attempt) + ": " + why);
}

}  // namespace muster::registries::redis
