#include "tests/strangers/stranger.h"

#include <array>
#include <random>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/drivers/shm/setup.h"
#include "muster/net/socket_address.h"

namespace muster::strangers {
namespace {

using net::SocketAddress;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

int connect_to(const net::Address& address) {
  if (address.scheme == "shm") {
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const auto name = *drivers::shm::socket_name(address);
    EXPECT_EQ(connect(made, reinterpret_cast<const sockaddr*>(&name.first), name.second), 0)
        << errno;
    return made;
  }
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto to = *SocketAddress::parse(address.host, address.port);
  EXPECT_EQ(connect(made, to.data(), to.size()), 0) << errno;
  return made;
}

int use_wrong_key(SSL* session, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                  SSL_SESSION** key) {
  const auto& said = *static_cast<const std::string_view*>(SSL_get_app_data(session));
  constexpr std::array<unsigned char, 32> kWrong = {1, 2, 3};
  constexpr std::array<unsigned char, 2> kSuite = {0x13, 0x01};
  *identity = reinterpret_cast<const unsigned char*>(said.data());
  *size = said.size();
  *key = SSL_SESSION_new();
  SSL_SESSION_set1_master_key(*key, kWrong.data(), kWrong.size());
  SSL_SESSION_set_cipher(*key, SSL_CIPHER_find(session, kSuite.data()));
  SSL_SESSION_set_protocol_version(*key, TLS1_3_VERSION);
  return 1;
}

// Passes on what comes from `from`, and keeps it. False at the end.
bool pass(int from, int to, Bytes& heard) {
  std::array<std::byte, 4096> piece;
  const ssize_t got = recv(from, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  heard.insert(heard.end(), piece.begin(), piece.begin() + got);
  return send(to, piece.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
}

}  // namespace

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Stranger::Stranger(const net::Address& address) : socket_(connect_to(address)) {}

Stranger::~Stranger() {
  if (socket_ >= 0) close(socket_);
}

Stranger::Stranger(Stranger&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

bool Stranger::say(const Bytes& bytes) const {
  return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
}

bool Stranger::is_dropped(milliseconds patience, bool echoes) const {
  const auto end = steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    pollfd one{socket_, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(std::max<long>(left.count(), 0))) <= 0) return false;
    Bytes heard(4096);
    const ssize_t got = recv(socket_, heard.data(), heard.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
    if (got < 0 || !echoes) continue;
    heard.resize(static_cast<std::size_t>(got));
    if (!say(heard)) return true;
  }
}

Bytes tls_hello(std::string_view identity) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_psk_use_session_callback(context.get(), use_wrong_key);
  const std::shared_ptr<SSL> session(SSL_new(context.get()), SSL_free);
  SSL_set_app_data(session.get(), &identity);
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), out);
  SSL_set_connect_state(session.get());
  SSL_do_handshake(session.get());
  Bytes hello(BIO_pending(out));
  MUSTER_CHECK(BIO_read(out, hello.data(), static_cast<int>(hello.size())) > 0, "a hello");
  return hello;
}

Overheard overhear(const net::Address& address) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto here = *SocketAddress::parse("127.0.0.1", 0);
  bind(listening, here.data(), here.size());
  listen(listening, 1);
  net::Address relay = SocketAddress::of_local(listening)->address(address.scheme);
  // The second port of zmq is the fortress's own, and nobody listens in there.
  if (address.scheme != "zmq") relay.options = address.options;
  Overheard heard;
  std::thread between([&] {
    const int near = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    const int far = connect_to(address);
    std::array<pollfd, 2> both{pollfd{near, POLLIN, 0}, pollfd{far, POLLIN, 0}};
    while (poll(both.data(), both.size(), -1) > 0) {
      if (both[0].revents != 0 && !pass(near, far, heard.said)) break;
      if (both[1].revents != 0 && !pass(far, near, heard.answered)) break;
    }
    close(near);
    close(far);
  });
  {
    Member member;
    EXPECT_TRUE(member.call(relay));
  }
  between.join();
  close(listening);
  return heard;
}

}  // namespace muster::strangers
