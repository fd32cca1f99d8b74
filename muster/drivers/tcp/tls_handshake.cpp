// How a TlsStream comes about: keys, identities, and what is said when it fails.

#include <algorithm>
#include <charconv>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tls_identity.h"
#include "muster/drivers/tcp/tls_stream.h"

namespace muster::drivers::tcp {
namespace {

// TLS_AES_128_GCM_SHA256, as it is written on the wire.
constexpr unsigned char kSuiteNumber[] = {0x13, 0x01};

SSL_SESSION* session_of(SSL* session, const net::Key& key) {
  SSL_SESSION* const made = SSL_SESSION_new();
  const bool is_set =
      made != nullptr &&
      SSL_SESSION_set1_master_key(made, reinterpret_cast<const unsigned char*>(key.data()),
                                  key.size()) == 1 &&
      SSL_SESSION_set_cipher(made, SSL_CIPHER_find(session, kSuiteNumber)) == 1 &&
      SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1;
  MUSTER_CHECK(is_set, "there is memory for a key");
  return made;
}

Error hung_up() {
  return {Code::unavailable,
          "TLS handshake: the peer hung up; does it speak with encryption at this address?"};
}

// One of the secrets in a line of the form that is common for key logs: what it is, a
// number of the connection, and the secret, both in hexadecimal.
std::optional<TrafficSecret> secret_in(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.substr(name.size(), 1) != " ") return std::nullopt;
  line.remove_prefix(line.rfind(' ') + 1);
  TrafficSecret secret{};
  if (line.size() != 2 * secret.size()) return std::nullopt;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char* const at = line.data() + 2 * i;
    unsigned value = 0;
    if (std::from_chars(at, at + 2, value, 16).ptr != at + 2) return std::nullopt;
    secret[i] = static_cast<std::byte>(value);
  }
  return secret;
}

// The other end of a connected socket is gone, and left nothing to read.
bool has_hung_up(int socket) {
  std::byte next;
  return recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

struct TlsStream::Callbacks {
  static TlsStream& stream(SSL* session) {
    return *static_cast<TlsStream*>(SSL_get_app_data(session));
  }

  // What does the client offer? Asked a second time, with a digest, if the
  // server wants another hello.
  static int use_key(SSL* session, const EVP_MD* digest, const unsigned char** identity,
                     std::size_t* size, SSL_SESSION** key) {
    *identity = nullptr;
    *size = 0;
    *key = nullptr;
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
    const TlsStream& asked = stream(session);
    *identity = reinterpret_cast<const unsigned char*>(asked.identity_.data());
    *size = asked.identity_.size();
    *key = session_of(session, asked.key_);
    return 1;
  }

  // OpenSSL has no other way to tell what the two ends have agreed upon.
  static void learn_secret(const SSL* session, const char* line) {
    static_cast<TlsStream*>(SSL_get_app_data(session))->learn_secret(line);
  }

  // Does the server know what was offered? Without a key, and without a
  // certificate, the handshake fails.
  static int find_key(SSL* session, const unsigned char* identity, std::size_t size,
                      SSL_SESSION** key) {
    *key = stream(session).find_key({reinterpret_cast<const char*>(identity), size});
    return 1;
  }
};

void TlsStream::use_keys(SSL_CTX* client, SSL_CTX* server) {
  SSL_CTX_set_psk_use_session_callback(client, Callbacks::use_key);
  SSL_CTX_set_psk_find_session_callback(server, Callbacks::find_key);
}

void TlsStream::learn_secrets(SSL_CTX* context) {
  SSL_CTX_set_keylog_callback(context, Callbacks::learn_secret);
}

TlsStream::Learned::~Learned() {
  for (auto* secret : {&client, &server}) {
    if (*secret) OPENSSL_cleanse((*secret)->data(), (*secret)->size());
  }
}

void TlsStream::FreeSession::operator()(ssl_st* session) const { SSL_free(session); }

TlsStream::TlsStream(TlsContext& context, SSL* session, int socket)
    : context_(context), wire_(socket, context.gathered()), session_(session) {
  SSL_set_app_data(session, this);
  BIO_up_ref(wire_.bio());
  SSL_set_bio(session, wire_.bio(), wire_.bio());
}

TlsStream::~TlsStream() {
  leave_dials();
  // The peer shall know that nothing is missing, if it can be told at once.
  if (is_open_ && wire_.socket() >= 0 && !failure_ && !wire_.has_unsent()) {
    SSL_shutdown(session_.get());
    wire_.flush();
  }
  ERR_clear_error();
}

std::unique_ptr<Stream> TlsStream::accept(TlsContext& context, SSL* session, int socket) {
  SSL_set_accept_state(session);
  return std::unique_ptr<Stream>(new TlsStream(context, session, socket));
}

std::unique_ptr<Stream> TlsStream::connect(TlsContext& context, SSL* session, int socket,
                                           const std::string& host, std::size_t attempt) {
  SSL_set_connect_state(session);
  std::unique_ptr<TlsStream> made(new TlsStream(context, session, socket));
  if (context.uses_certificates()) {
    made->verify_name(host);
  } else {
    made->offer_key(attempt);
  }
  return made;
}

// The certificate must be of the host that was dialed.
void TlsStream::verify_name(const std::string& host) {
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(session_.get());
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_set = SocketAddress::parse(host, 0)
                          ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1
                          : X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1 &&
                                SSL_set_tlsext_host_name(session_.get(), host.c_str()) == 1;
  // Without a name any member's certificate would do.
  if (!is_set) failure_ = Error(Code::invalid, "TLS: no certificate can be held against this name");
}

void TlsStream::offer_key(std::size_t attempt) {
  const std::vector<net::Token> tokens = context_.options().tokens->accepted();
  // One may have gone since the attempts were counted.
  const net::Token& token = tokens[std::min(attempt, tokens.size() - 1)];
  identity_ = TlsIdentity{token.generation, context_.id()}.to_text();
  key_ = tls_key(token);
  dialed_from_ = SocketAddress::of_local(wire_.socket());
  if (dialed_from_) context_.add_dial(*dialed_from_);
}

void TlsStream::leave_dials() {
  if (dialed_from_) context_.remove_dial(*dialed_from_);
  dialed_from_.reset();
}

SSL_SESSION* TlsStream::find_key(std::string_view text) {
  const auto identity = TlsIdentity::parse(text);
  if (!identity) {
    refusal_ = "the peer offers a key of another kind";
    return nullptr;
  }
  if (identity->sender == context_.id()) {
    const auto from = SocketAddress::of_peer(wire_.socket());
    if (!from || !context_.is_own_dial(*from)) {
      refusal_ = "somebody sent our own hello back to us";
      return nullptr;
    }
  }
  for (const net::Token& token : context_.options().tokens->accepted()) {
    if (token.generation == identity->generation) return session_of(session_.get(), tls_key(token));
  }
  refusal_ =
      "the tokens differ: the peer's is of generation " + std::to_string(identity->generation);
  return nullptr;
}

Stream::Handshake TlsStream::handshake() {
  if (is_open_) return Handshake::done;
  if (failure_) return Handshake::failed;
  ERR_clear_error();
  wire_.start_reading();
  const int done = SSL_do_handshake(session_.get());
  const int kind = done == 1 ? SSL_ERROR_NONE : SSL_get_error(session_.get(), done);
  // The reason is taken before anything else is asked of OpenSSL; the alert
  // that tells the peer is sent all the same.
  const bool is_blocked = kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE;
  if (kind != SSL_ERROR_NONE && !is_blocked) failure_ = why_no_handshake(kind);
  if (!wire_.flush() && !failure_) failure_ = why_lost().during("TLS handshake");
  if (failure_) return Handshake::failed;
  if (wire_.has_unsent()) return Handshake::wants_write;
  return is_blocked ? Handshake::wants_read : settle();
}

Stream::Handshake TlsStream::settle() {
  // Believed by its certificate, or by the key and by nothing else.
  const bool is_proved = context_.uses_certificates()
                             ? SSL_get_verify_result(session_.get()) == X509_V_OK
                             : SSL_session_reused(session_.get()) == 1;
  if (!is_proved) {
    failure_ = Error(Code::invalid, "TLS handshake: the peer did not prove itself");
    return Handshake::failed;
  }
  leave_dials();
  is_open_ = true;
  // It may have sent more than the handshake: that is read ahead already.
  was_filled_ = true;
  // A stranger's buffers were given back between its bytes; a member's are kept,
  // since taking them anew for each record shows.
  SSL_clear_mode(session_.get(), SSL_MODE_RELEASE_BUFFERS);
  return Handshake::done;
}

void TlsStream::learn_secret(std::string_view line) {
  const auto client = secret_in(line, "CLIENT_TRAFFIC_SECRET_0");
  const auto server = secret_in(line, "SERVER_TRAFFIC_SECRET_0");
  if (!client && !server) return;
  if (!learned_) learned_ = std::make_unique<Learned>();
  if (client) learned_->client = client;
  if (server) learned_->server = server;
}

// OpenSSL reads record by record, and the handshake ends with one: whatever follows it
// is still with the wire, or in the socket.
std::unique_ptr<Stream> TlsStream::successor() {
  const std::unique_ptr<Learned> learned = std::move(learned_);
  if (!learned || !learned->client || !learned->server) return nullptr;
  if (SSL_has_pending(session_.get()) == 1) return nullptr;
  const bool is_server = SSL_is_server(session_.get()) == 1;
  auto next = std::make_unique<TlsRecordStream>(
      wire_.socket(),
      TlsRecordStream::Secrets{is_server ? *learned->client : *learned->server,
                               is_server ? *learned->server : *learned->client},
      wire_.ahead(), TlsRecordStream::Lent{context_.gathered(), context_.incoming()},
      context_.options().records_per_key);
  wire_.give_up_socket();
  return next;
}

Error TlsStream::why_no_handshake(int kind) const {
  const auto invalid = [](const std::string& why) {
    return Error(Code::invalid, "TLS handshake: " + why);
  };
  const unsigned long first = ERR_peek_error();
  const int reason = ERR_GET_REASON(first);
  const bool is_told = first != 0 && reason >= SSL_AD_REASON_OFFSET;
  const std::string said = take_tls_error();
  if (!refusal_.empty()) {
    // A dial of our own that was given up is no attack.
    return has_hung_up(wire_.socket()) ? hung_up() : invalid(refusal_);
  }
  if (const long verified = SSL_get_verify_result(session_.get());
      context_.uses_certificates() && verified != X509_V_OK) {
    return invalid("the peer's certificate is refused: " +
                   std::string(X509_verify_cert_error_string(verified)));
  }
  if (is_told) return invalid("the peer refused: " + said + "; do both have the same token?");
  if (kind == SSL_ERROR_SSL && first != 0 && !wire_.has_ended()) {
    return invalid(said + "; does the peer know the token, and speak with encryption?");
  }
  if (wire_.error() != 0) return why_lost().during("TLS handshake");
  return hung_up();
}

}  // namespace muster::drivers::tcp
