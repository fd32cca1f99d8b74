// Who is let in over TLS, and who is not: over real sockets on loopback.

#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/tcp/testing/certificates.h"
#include "muster/drivers/tcp/testing/raw_tls.h"
#include "muster/drivers/tcp/tls_identity.h"
#include "muster/net/socket_address.h"
#include "muster/net/testing/pattern.h"

namespace muster::drivers {
namespace {

using net::SocketAddress;
using tcp::TlsIdentity;
using tcp::testing::Certificate;
using tcp::testing::CertificateFolder;
using tcp::testing::make_certificate;
using tcp::testing::RawTls;

constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";

struct Recorder final : net::Sink {
  std::unique_ptr<net::Connection> connection;
  std::vector<wire::Frame> frames;
  std::optional<Error> why;

  void on_frame(wire::Frame& frame) override { frames.push_back(std::move(frame)); }
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t) override { return {}; }
  void on_room() override {}
  void on_closed(Error error) override { why = std::move(error); }
};

net::Token token(std::uint32_t generation, int filled_with = 1) {
  return {generation, std::vector<std::byte>(32, static_cast<std::byte>(filled_with + generation))};
}
TlsOptions knowing(std::vector<net::Token> tokens) {
  TlsOptions options;
  options.tokens = *net::make_fixed_tokens(std::move(tokens));
  return options;
}

int connect_raw(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto to = *SocketAddress::parse("127.0.0.1", port);
  EXPECT_EQ(connect(made, to.data(), to.size()), 0);
  return made;
}

// A socket of a stranger's that listens.
struct RawListener {
  RawListener() : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto here = *SocketAddress::parse("127.0.0.1", 0);
    bind(fd, here.data(), here.size());
    listen(fd, 8);
  }
  ~RawListener() { close(fd); }
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  net::Address address() const {
    net::Address address = SocketAddress::of_local(fd)->address();
    address.options = "tls=on";
    return address;
  }
  int accept_one() const { return accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }
  int fd;
};

// A driver that listens and one that dials, on one loop.
class Tls : public ::testing::Test {
 protected:
  ~Tls() override {
    const loop::Turn turn(*loop);
    for (Recorder& recorder : accepted) recorder.connection.reset();
    dialed.connection.reset();
    listener.reset();
    near.reset();
    far.reset();
  }

  net::Address listen(TlsOptions options, const char* at = "tcp://127.0.0.1:0?tls=on") {
    const loop::Turn turn(*loop);
    far = make_tcp_driver(*loop, {.tls = std::move(options)});
    auto made = far->listen(*net::Address::parse(at),
                            [this](std::unique_ptr<net::Connection> connection) -> net::Sink& {
                              accepted.emplace_back().connection = std::move(connection);
                              return accepted.back();
                            });
    EXPECT_TRUE(made) << made.error().describe();
    listener = *std::move(made);
    return listener->address();
  }
  // Dials, and sends a frame at once.
  void dial(const net::Address& address, TlsOptions options) {
    const loop::Turn turn(*loop);
    near = make_tcp_driver(*loop, {.tls = std::move(options)});
    dial_with(*near, address);
  }
  void dial_with(net::Driver& driver, const net::Address& address) {
    const loop::Turn turn(*loop);
    auto connection = driver.dial(address, dialed);
    ASSERT_TRUE(connection) << connection.error().describe();
    dialed.connection = *std::move(connection);
    wire::Frame frame = net::testing::make_frame({8, {100, 100'000}}, 3);
    EXPECT_TRUE(dialed.connection->send(frame));
  }
  // Lets things happen, and calls `meanwhile` in between.
  [[nodiscard]] bool pump(
      const std::function<bool()>& done, const std::function<void()>& meanwhile = [] {}) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      meanwhile();
      loop->run_ready();
    }
    return true;
  }
  bool has_arrived() const { return !accepted.empty() && !accepted.back().frames.empty(); }
  void expect_welcome() {
    EXPECT_TRUE(pump([&] { return has_arrived() || dialed.why; }));
    EXPECT_FALSE(dialed.why) << dialed.why->describe();
    EXPECT_TRUE(has_arrived() &&
                net::testing::is_frame(accepted.back().frames[0], {8, {100, 100'000}}, 3));
  }
  // Both ends hear of it, and no frame has come.
  void expect_refused(const std::string& far_says, const std::string& near_says) {
    ASSERT_TRUE(pump([&] { return !accepted.empty() && accepted.back().why && dialed.why; }));
    EXPECT_NE(accepted.back().why->message().find(far_says), std::string::npos)
        << accepted.back().why->message();
    EXPECT_NE(dialed.why->message().find(near_says), std::string::npos) << dialed.why->message();
    EXPECT_FALSE(has_arrived());
  }
  void expect_raw_refused(RawTls& raw) {
    ASSERT_TRUE(pump([&] { return !accepted.empty() && accepted.back().why && raw.has_failed; },
                     [&] { raw.step(); }));
    EXPECT_EQ(accepted.back().why->code(), Code::invalid) << accepted.back().why->describe();
  }

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make({.clock = &clock, .keeper = false});
  std::unique_ptr<net::Driver> near;
  std::unique_ptr<net::Driver> far;
  std::unique_ptr<net::Listener> listener;
  std::list<Recorder> accepted;
  Recorder dialed;
};

TEST_F(Tls, TheSameTokenOpensTheDoor) {
  dial(listen(knowing({token(1)})), knowing({token(1)}));
  expect_welcome();
}

TEST_F(Tls, AnyAddressWillDoAndSaysThatItIsEncrypted) {
  net::Address address = listen(knowing({token(1)}), "tcp://0.0.0.0:0");
  EXPECT_EQ(address.options, "tls=on");
  address.host = "127.0.0.1";
  dial(address, knowing({token(1)}));
  expect_welcome();
  const loop::Turn turn(*loop);
  EXPECT_TRUE(accepted.back().connection->peer().is_same_host);
}

TEST_F(Tls, AWrongTokenIsRefusedAtOnce) {
  dial(listen(knowing({token(1)})), knowing({token(1, 77)}));
  expect_refused("TLS handshake", "the peer refused");
  EXPECT_EQ(dialed.why->code(), Code::invalid);
  EXPECT_EQ(accepted.back().why->code(), Code::invalid);
}

TEST_F(Tls, WithoutATokenOrCertificatesNothingIsDialedOrListenedTo) {
  const loop::Turn turn(*loop);
  near = make_tcp_driver(*loop);
  const net::Address address = *net::Address::parse("tcp://127.0.0.1:7?tls=on");

  const auto connection = near->dial(address, dialed);
  const auto listening = near->listen(address, [](auto) -> net::Sink& { std::abort(); });

  ASSERT_FALSE(connection || listening);
  EXPECT_EQ(connection.error().code(), Code::unsupported);
  EXPECT_EQ(listening.error().code(), Code::unsupported);
  EXPECT_NE(connection.error().message().find("neither a token nor certificates"),
            std::string::npos)
      << connection.error().message();
}

TEST_F(Tls, AClientWithoutAKeyIsRefused) {
  RawTls raw(connect_raw(listen(knowing({token(1)})).port), false);
  expect_raw_refused(raw);
}

TEST_F(Tls, APlainClientIsRefused) {
  net::Address address = listen(knowing({token(1)}));
  address.options.clear();
  dial(address, {});
  expect_refused("TLS handshake", "");
}

TEST_F(Tls, AServerWithoutEncryptionIsRefused) {
  net::Address address = listen({}, "tcp://127.0.0.1:0");
  address.options = "tls=on";
  dial(address, knowing({token(1)}));
  expect_refused("", "TLS handshake");
}

TEST_F(Tls, AKeyOfAnotherSuiteOrAnotherIdentityIsRefused) {
  const std::uint16_t port = listen(knowing({token(1)})).port;
  const net::Key key = tcp::tls_key(token(1));
  const std::string identity = TlsIdentity{1, {7, 7}}.to_text();
  {
    RawTls raw(connect_raw(port), false);
    raw.offer(identity, key, kSuite);
    ASSERT_TRUE(pump([&] { return raw.is_over(); }, [&] { raw.step(); }));
    EXPECT_TRUE(raw.is_done) << "the control";
    EXPECT_EQ(std::string(SSL_get_version(raw.session.get())), "TLSv1.3");
  }
  for (const auto& [said, suite] :
       {std::pair(identity, "TLS_CHACHA20_POLY1305_SHA256"),
        std::pair(identity, "TLS_AES_256_GCM_SHA384"),
        std::pair(std::string("muster 1 server g1 ") + Id{7, 7}.to_string(), kSuite),
        std::pair(std::string("somebody"), kSuite)}) {
    const std::size_t before = accepted.size();
    RawTls raw(connect_raw(port), false);
    raw.offer(said, key, suite);
    ASSERT_TRUE(
        pump([&] { return accepted.size() > before && accepted.back().why; }, [&] { raw.step(); }))
        << said << suite;
    EXPECT_EQ(accepted.back().why->code(), Code::invalid);
  }
}

TEST_F(Tls, NeitherTicketsNorEarlyDataAreGiven) {
  static int tickets;
  tickets = 0;
  const std::uint16_t port = listen(knowing({token(1)})).port;
  RawTls raw(connect_raw(port), false);
  raw.offer(TlsIdentity{1, {7, 7}}.to_text(), tcp::tls_key(token(1)), kSuite);
  SSL_CTX_set_session_cache_mode(raw.context.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_sess_set_new_cb(raw.context.get(), [](SSL*, SSL_SESSION*) { return ++tickets * 0; });

  ASSERT_TRUE(pump([&] { return raw.is_over(); }, [&] { raw.step(); }));
  for (int i = 0; i < 100; ++i) {
    loop->run_ready();
    raw.step();
  }

  EXPECT_TRUE(raw.is_done);
  EXPECT_EQ(tickets, 0);
  EXPECT_EQ(SSL_SESSION_get_max_early_data(SSL_get_session(raw.session.get())), 0U);
}

TEST_F(Tls, AnOlderTlsIsRefusedByEitherEnd) {
  RawTls client(connect_raw(listen(knowing({token(1)})).port), false);
  SSL_CTX_set_max_proto_version(client.context.get(), TLS1_2_VERSION);
  expect_raw_refused(client);

  const RawListener stranger;
  dial(stranger.address(), knowing({token(1)}));
  std::optional<RawTls> server;
  ASSERT_TRUE(pump([&] { return dialed.why.has_value(); },
                   [&] {
                     if (!server) {
                       const int socket = stranger.accept_one();
                       if (socket < 0) return;
                       server.emplace(socket, true);
                       SSL_CTX_set_max_proto_version(server->context.get(), TLS1_2_VERSION);
                     }
                     server->step();
                   }));
  EXPECT_EQ(dialed.why->code(), Code::invalid) << dialed.why->describe();
}

TEST_F(Tls, AServerWithACertificateInsteadOfTheKeyIsNotBelieved) {
  const Certificate authority = make_certificate({}, nullptr);
  const Certificate own = make_certificate({.alternative = "IP:127.0.0.1"}, &authority);
  const RawListener stranger;
  dial(stranger.address(), knowing({token(1)}));
  std::optional<RawTls> server;
  ASSERT_TRUE(pump([&] { return dialed.why.has_value(); },
                   [&] {
                     if (!server) {
                       const int socket = stranger.accept_one();
                       if (socket < 0) return;
                       server.emplace(socket, true);
                       SSL_CTX_use_certificate(server->context.get(), own.certificate.get());
                       SSL_CTX_use_PrivateKey(server->context.get(), own.key.get());
                     }
                     server->step();
                   }));
  EXPECT_EQ(dialed.why->code(), Code::invalid) << dialed.why->describe();
  EXPECT_FALSE(server->is_done);
}

// Stands between a driver that dials and a listener, and passes bytes on.
class Relay {
 public:
  explicit Relay(std::uint16_t to) : to_(to) {}
  ~Relay() {
    if (ends_[0] >= 0) close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  net::Address address() const { return listener_.address(); }
  // Changes what goes from end 0, the caller's, or 1.
  std::function<void(int end, std::vector<std::byte>& bytes)> change = [](int, auto&) {};
  std::size_t at_a_time = 65536;

  void step() {
    if (ends_[0] < 0) {
      ends_[0] = listener_.accept_one();
      if (ends_[0] < 0) return;
      ends_[1] = connect_raw(to_);
    }
    pass(0);
    pass(1);
  }

 private:
  void pass(int from) {
    std::vector<std::byte> bytes(at_a_time);
    const ssize_t got = recv(ends_[from], bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) shutdown(ends_[1 - from], SHUT_WR);
    if (got <= 0) return;
    bytes.resize(static_cast<std::size_t>(got));
    change(from, bytes);
    send(ends_[1 - from], bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  RawListener listener_;
  std::uint16_t to_;
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(Tls, AHelloSentBackToItsSenderIsRefused) {
  // The driver that dials the stranger is the one that the stranger then calls.
  Relay relay(listen(knowing({token(1)})).port);
  dial_with(*far, relay.address());

  ASSERT_TRUE(pump([&] { return !accepted.empty() && accepted.back().why && dialed.why; },
                   [&] { relay.step(); }));

  EXPECT_EQ(accepted.back().why->message(),
            "TLS handshake: somebody sent our own hello back to us");
  EXPECT_EQ(dialed.why->code(), Code::invalid);
}

TEST_F(Tls, ADriverMayDialItself) {
  dial_with(*far, listen(knowing({token(1)})));
  expect_welcome();
}

TEST_F(Tls, AHelloPassedOnToAnotherMemberIsNoHarm) {
  Relay relay(listen(knowing({token(1)})).port);
  dial(relay.address(), knowing({token(1)}));
  EXPECT_TRUE(pump([&] { return has_arrived(); }, [&] { relay.step(); }));
}

TEST_F(Tls, BytesThatComeOneByOneAreAsGoodAsAny) {
  Relay relay(listen(knowing({token(1)})).port);
  relay.at_a_time = 1;
  dial(relay.address(), knowing({token(1)}));
  EXPECT_TRUE(pump([&] { return has_arrived(); },
                   [&] {
                     for (int i = 0; i < 64; ++i) relay.step();
                   }));
  EXPECT_TRUE(net::testing::is_frame(accepted.back().frames[0], {8, {100, 100'000}}, 3));
}

TEST_F(Tls, AByteChangedOnItsWayCostsTheConnectionAndNothingOfItIsDelivered) {
  Relay relay(listen(knowing({token(1)})).port);
  dial(relay.address(), knowing({token(1)}));
  std::size_t passed = 0;
  relay.change = [&](int end, std::vector<std::byte>& bytes) {
    if (end != 0) return;
    passed += bytes.size();
    if (passed > 50'000) bytes.back() ^= std::byte{1};
  };

  ASSERT_TRUE(
      pump([&] { return !accepted.empty() && accepted.back().why; }, [&] { relay.step(); }));

  EXPECT_EQ(accepted.back().why->code(), Code::unavailable);
  EXPECT_FALSE(has_arrived());
}

TEST_F(Tls, TheOldGenerationIsAcceptedWhileItIsKept) {
  dial(listen(knowing({token(2), token(1)})), knowing({token(1)}));
  expect_welcome();
}

TEST_F(Tls, TheOldGenerationIsRefusedWhenItsTimeIsOver) {
  dial(listen(knowing({token(2)})), knowing({token(1)}));
  expect_refused("generation 1", "the peer refused");
}

TEST_F(Tls, APeerThatHasNotHeardOfTheNewGenerationIsReachedByTheOldOne) {
  dial(listen(knowing({token(1)})), knowing({token(3), token(2), token(1)}));
  expect_welcome();
  EXPECT_EQ(accepted.size(), 3U) << "one attempt for each generation";
}

TEST_F(Tls, HalfAHandshakeAndSilenceEndsAtTheDeadline) {
  const std::uint16_t port = listen(knowing({token(1)})).port;
  // A record that promises a hello of 500 bytes.
  const std::array<unsigned char, 9> half = {22, 3, 1, 1, 0xf4, 1, 0, 1, 0xf0};
  const int stranger = connect_raw(port);
  ASSERT_EQ(send(stranger, half.data(), half.size(), 0), std::ssize(half));
  ASSERT_TRUE(pump([&] { return !accepted.empty(); }));

  clock.advance(TcpOptions().handshake_timeout - std::chrono::milliseconds(1));
  loop->run_ready();
  EXPECT_FALSE(accepted.back().why);
  clock.advance(std::chrono::milliseconds(1));
  loop->run_ready();

  ASSERT_TRUE(accepted.back().why);
  EXPECT_EQ(accepted.back().why->message(), "TLS handshake: the peer did not finish it in time");
  close(stranger);
}

TEST_F(Tls, AServerThatSaysNothingIsLeftAtTheDeadline) {
  const RawListener stranger;
  dial(stranger.address(), knowing({token(1)}));
  int socket = -1;
  ASSERT_TRUE(pump([&] { return socket >= 0; }, [&] { socket = stranger.accept_one(); }));
  loop->run_ready();

  clock.advance(TcpOptions().handshake_timeout);
  loop->run_ready();

  ASSERT_TRUE(dialed.why);
  EXPECT_EQ(dialed.why->code(), Code::unavailable);
  close(socket);
}

class TlsCertificates : public Tls {
 protected:
  Certificate sign(const std::string& alternative, long valid_for_s = 3600) {
    return make_certificate({.alternative = alternative, .valid_for_s = valid_for_s}, &authority);
  }
  TlsOptions good() { return folder.save(authority, sign("IP:127.0.0.1")); }

  CertificateFolder folder;
  Certificate authority = make_certificate({.name = "the authority"}, nullptr);
  Certificate other = make_certificate({.name = "another"}, nullptr);
};

TEST_F(TlsCertificates, OfOneAuthorityOpenTheDoor) {
  dial(listen(good()), good());
  expect_welcome();
}

TEST_F(TlsCertificates, AreHeldAgainstTheNameThatWasDialed) {
  net::Address address = listen(folder.save(authority, sign("DNS:localhost")));
  address.host = "localhost";
  dial(address, good());
  expect_welcome();
}

TEST_F(TlsCertificates, OfAnotherAuthorityAreRefusedByTheClient) {
  dial(listen(good()), folder.save(other, sign("IP:127.0.0.1")));
  expect_refused("TLS handshake", "the peer's certificate is refused");
}

TEST_F(TlsCertificates, OfAnotherAuthorityAreRefusedByTheServer) {
  const Certificate foreign = make_certificate({.alternative = "IP:127.0.0.1"}, &other);
  dial(listen(good()), folder.save(authority, foreign));
  expect_refused("the peer's certificate is refused", "");
}

TEST_F(TlsCertificates, OfAnotherNameAreRefused) {
  dial(listen(folder.save(authority, sign("IP:127.0.0.2,DNS:elsewhere"))), good());
  expect_refused("TLS handshake", "IP address mismatch");
}

TEST_F(TlsCertificates, ThatHaveExpiredAreRefused) {
  dial(listen(folder.save(authority, sign("IP:127.0.0.1", -60))), good());
  expect_refused("TLS handshake", "certificate has expired");
}

TEST_F(TlsCertificates, AreAskedOfTheClientToo) {
  RawTls raw(connect_raw(listen(good()).port), false);
  expect_raw_refused(raw);
}

TEST_F(TlsCertificates, ThatCannotBeUsedAreNamed) {
  TlsOptions broken = good();
  broken.key_file = broken.ca_file;
  TlsOptions partial = good();
  partial.ca_file.clear();
  for (const TlsOptions& options : {broken, partial}) {
    const loop::Turn turn(*loop);
    const auto driver = make_tcp_driver(*loop, {.tls = options});
    const auto made = driver->listen(*net::Address::parse("tcp://0.0.0.0:0"),
                                     [](auto) -> net::Sink& { std::abort(); });
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Code::invalid) << made.error().describe();
  }
}

}  // namespace
}  // namespace muster::drivers
