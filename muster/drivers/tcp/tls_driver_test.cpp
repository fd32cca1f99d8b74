// Who is let in over TLS, and who is not: over real sockets on loopback.

#include "muster/drivers/tcp/testing/certificates.h"
#include "muster/drivers/tcp/testing/tls_pair.h"
#include "muster/drivers/tcp/testing/wire_bytes.h"
#include "muster/drivers/tcp/tls_identity.h"

namespace muster::drivers {
namespace {

using tcp::TlsIdentity;
using tcp::testing::Certificate;
using tcp::testing::connect_raw;
using tcp::testing::knowing;
using tcp::testing::make_certificate;
using tcp::testing::RawTls;
using tcp::testing::Tls;
using tcp::testing::token;

constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";

// Counts those that come.
void count_key_updates(const RawTls& raw, int& updates) {
  SSL_CTX_set_msg_callback_arg(raw.context.get(), &updates);
  SSL_CTX_set_msg_callback(raw.context.get(), [](int is_sent, int, int type, const void* bytes,
                                                 std::size_t size, SSL*, void* count) {
    const bool is_update = type == SSL3_RT_HANDSHAKE && size > 0 &&
                           *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE;
    if (is_sent == 0 && is_update) ++*static_cast<int*>(count);
  });
}

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

TEST_F(Tls, WhoListensAtAllAddressesTellsOneThatCanBeDialed) {
  const net::Address address = listen(knowing({token(1)}), "tcp://0.0.0.0:0");
  EXPECT_NE(address.host, "0.0.0.0");
  dial(address, knowing({token(1)}));
  expect_welcome();
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

TEST_F(Tls, NoKeyEncryptsMoreThanItMay) {
  int updates = 0;
  TlsOptions options = knowing({token(1)});
  options.records_per_key = 16;
  RawTls raw(connect_raw(listen(options).port), false);
  raw.offer(TlsIdentity{1, {7, 7}}.to_text(), tcp::tls_key(token(1)), kSuite);
  count_key_updates(raw, updates);
  ASSERT_TRUE(pump([&] { return raw.is_done; }, [&] { raw.step(); }));

  // More than the sockets hold: keys are changed also where nothing can leave.
  std::size_t sent = 0;
  for (wire::Frame frame;;) {
    frame = net::testing::make_frame({8, {100, 200'000}}, 3);
    const std::size_t size = wire::prefix_size(2) + 8 + frame.body_size();
    const loop::Turn turn(*loop);
    if (!accepted.back().connection->send(frame)) break;
    sent += size;
  }
  for (int i = 0; i < 20; ++i) loop->run_ready();
  std::size_t received = 0;
  std::vector<std::byte> piece(1 << 16);
  ASSERT_TRUE(pump([&] { return received == sent || accepted.back().why; },
                   [&] {
                     const int got = SSL_read(raw.session.get(), piece.data(), 1 << 16);
                     if (got > 0) received += static_cast<std::size_t>(got);
                   }));

  EXPECT_EQ(received, sent);
  const auto records = static_cast<int>(sent >> 14);
  EXPECT_GE(updates, records / 16 - 1);
}

TEST_F(Tls, BothEndsTakeUpNewKeysWithoutLosingAnything) {
  TlsOptions options = knowing({token(1)});
  options.records_per_key = 2;
  dial(listen(options), options);
  expect_welcome();
}

TEST_F(Tls, AKeyThatThePeerAsksForIsGiven) {
  int updates = 0;
  RawTls raw(connect_raw(listen(knowing({token(1)})).port), false);
  raw.offer(TlsIdentity{1, {7, 7}}.to_text(), tcp::tls_key(token(1)), kSuite);
  count_key_updates(raw, updates);
  ASSERT_TRUE(pump([&] { return raw.is_done; }, [&] { raw.step(); }));

  const std::vector<std::byte> said =
      tcp::testing::on_the_wire(net::testing::make_frame({8, {100}}, 3));
  for (int i = 1; i <= 2; ++i) {
    ASSERT_EQ(SSL_key_update(raw.session.get(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_write(raw.session.get(), said.data(), static_cast<int>(said.size())),
              static_cast<int>(said.size()));
    ASSERT_TRUE(pump([&] { return std::ssize(accepted.back().frames) == i; }));
    {
      const loop::Turn turn(*loop);
      wire::Frame frame = net::testing::make_frame({8, {100}}, 3);
      ASSERT_TRUE(accepted.back().connection->send(frame));
    }
    std::vector<std::byte> heard(said.size());
    ASSERT_TRUE(pump([&] {
      return SSL_read(raw.session.get(), heard.data(), static_cast<int>(heard.size())) > 0;
    }));
    EXPECT_EQ(heard, said);
    EXPECT_EQ(updates, i);
  }
}

TEST_F(Tls, BothWaysToMoveRecordsUnderstandEachOther) {
  TlsOptions by_the_kernel = knowing({token(1)});
  by_the_kernel.use_kernel = true;
  dial(listen(knowing({token(1)})), by_the_kernel);
  expect_welcome();
  {
    const loop::Turn turn(*loop);
    dialed.connection.reset();
    near.reset();
    listener.reset();
    accepted.clear();
    far.reset();
  }
  dial(listen(by_the_kernel), knowing({token(1)}));
  expect_welcome();
}

TEST_F(Tls, WhatThePeerSentBeforeItWentComesBeforeTheEnd) {
  const std::uint16_t port = listen(knowing({token(1)})).port;
  {
    RawTls raw(connect_raw(port), false);
    raw.offer(TlsIdentity{1, {7, 7}}.to_text(), tcp::tls_key(token(1)), kSuite);
    ASSERT_TRUE(pump([&] { return raw.is_done; }, [&] { raw.step(); }));
    for (int i = 0; i < 10; ++i) loop->run_ready();
    const std::vector<std::byte> said =
        tcp::testing::on_the_wire(net::testing::make_frame({8, {100}}, 3));
    ASSERT_EQ(SSL_write(raw.session.get(), said.data(), static_cast<int>(said.size())),
              static_cast<int>(said.size()));
  }
  // The first is answered by a reset, the next finds the connection broken, and nobody
  // has looked whether there is anything to read.
  tcp::testing::Recorder& recorder = accepted.back();
  for (int i = 0; i < 3; ++i) {
    const loop::Turn turn(*loop);
    wire::Frame frame = net::testing::make_frame({8, {100}}, 4);
    static_cast<void>(recorder.connection->send(frame));
  }
  ASSERT_TRUE(pump([&] { return recorder.why.has_value(); }));
  ASSERT_EQ(recorder.frames.size(), 1U);
  EXPECT_TRUE(net::testing::is_frame(recorder.frames[0], {8, {100}}, 3));
}

TEST_F(Tls, AnOlderTlsIsRefusedByEitherEnd) {
  RawTls client(connect_raw(listen(knowing({token(1)})).port), false);
  SSL_CTX_set_max_proto_version(client.context.get(), TLS1_2_VERSION);
  expect_raw_refused(client);

  expect_server_refused(
      [](SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
}

TEST_F(Tls, AServerWithACertificateInsteadOfTheKeyIsNotBelieved) {
  const Certificate authority = make_certificate({}, nullptr);
  const Certificate own = make_certificate({.alternative = "IP:127.0.0.1"}, &authority);
  expect_server_refused([&](SSL_CTX* context) {
    SSL_CTX_use_certificate(context, own.certificate.get());
    SSL_CTX_use_PrivateKey(context, own.key.get());
  });
}

}  // namespace
}  // namespace muster::drivers
