// Two ends over TLS on loopback, and strangers with bare sockets.

#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/tcp/testing/plain_socket.h"
#include "muster/drivers/tcp/testing/raw_tls.h"
#include "muster/drivers/tcp/testing/recorder.h"
#include "muster/net/socket_address.h"
#include "muster/net/testing/pattern.h"

namespace muster::drivers::tcp::testing {

inline net::Token token(std::uint32_t generation, int filled_with = 1) {
  return {generation, std::vector<std::byte>(32, static_cast<std::byte>(filled_with + generation))};
}
inline TlsOptions knowing(std::vector<net::Token> tokens) {
  TlsOptions options;
  options.tokens = *net::make_fixed_tokens(std::move(tokens));
  return options;
}

inline int connect_raw(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto to = *net::SocketAddress::parse("127.0.0.1", port);
  EXPECT_EQ(connect(made, to.data(), to.size()), 0);
  return made;
}

// A socket of a stranger's that listens.
struct RawListener {
  RawListener() : port(socket.listen_with(8)) {}
  net::Address address() const { return {"tcp", "127.0.0.1", port, port, "tls=on"}; }
  int accept_one() const {
    return accept4(socket.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }
  PlainSocket socket;
  std::uint16_t port;
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
    auto made = far->listen(*net::Address::parse(at), accept_into(accepted));
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
  // Dials a server of OpenSSL's that `prepare` has set up, and does not believe it.
  void expect_server_refused(const std::function<void(SSL_CTX*)>& prepare) {
    const RawListener stranger;
    dial(stranger.address(), knowing({token(1)}));
    std::optional<RawTls> server;
    const auto serve = [&] {
      if (server) return server->step();
      const int came = stranger.accept_one();
      if (came < 0) return;
      prepare(server.emplace(came, true).context.get());
    };
    ASSERT_TRUE(pump([&] { return dialed.why.has_value(); }, serve));
    EXPECT_EQ(dialed.why->code(), Code::invalid) << dialed.why->describe();
    EXPECT_FALSE(server->is_done);
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

}  // namespace muster::drivers::tcp::testing
