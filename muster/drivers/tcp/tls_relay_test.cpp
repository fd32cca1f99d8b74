// TLS with somebody in between, with tokens of several ages, and with silence.

#include <array>

#include "muster/drivers/tcp/testing/tls_pair.h"

namespace muster::drivers {
namespace {

using tcp::testing::connect_raw;
using tcp::testing::knowing;
using tcp::testing::RawListener;
using tcp::testing::Tls;
using tcp::testing::token;

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

}  // namespace
}  // namespace muster::drivers
