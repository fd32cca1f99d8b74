// Addresses, ports and dialling, over real sockets on loopback.

#include <array>
#include <chrono>
#include <cstring>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/base/log.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/tcp/testing/plain_socket.h"
#include "muster/drivers/tcp/testing/recorder.h"
#include "muster/net/socket_address.h"
#include "muster/net/testing/pattern.h"
#include "muster/wire/bytes.h"

namespace muster::drivers {
namespace {

using net::SocketAddress;
using tcp::testing::accept_into;
using tcp::testing::PlainSocket;
using tcp::testing::Recorder;

class TcpDriver : public ::testing::Test {
 protected:
  ~TcpDriver() override {
    const loop::Turn turn(*loop);
    for (Recorder& recorder : accepted) recorder.connection.reset();
    dialed.connection.reset();
    listeners.clear();
    driver.reset();
  }

  void use(TcpOptions options) {
    const loop::Turn turn(*loop);
    driver = make_tcp_driver(*loop, std::move(options));
  }
  void use_manual_clock() {
    driver.reset();
    loop = *loop::Loop::make({.clock = &clock, .keeper = false});
    driver = make_tcp_driver(*loop);
  }
  Result<net::Address> listen(const std::string& address) {
    const loop::Turn turn(*loop);
    auto listener = driver->listen(*net::Address::parse(address), accept_into(accepted));
    if (!listener) return listener.error();
    listeners.push_back(*std::move(listener));
    return listeners.back()->address();
  }
  void stop_listening() {
    const loop::Turn turn(*loop);
    listeners.clear();
  }
  Status dial(const std::string& address) { return dial(*net::Address::parse(address)); }
  Status dial(const net::Address& address) {
    const loop::Turn turn(*loop);
    auto connection = driver->dial(address, dialed);
    if (!connection) return connection.error();
    dialed.connection = *std::move(connection);
    return ok();
  }
  [[nodiscard]] bool wait(const std::function<bool()>& done) {
    return loop->wait_until(done, loop->now() + std::chrono::seconds(30));
  }

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make();
  std::unique_ptr<net::Driver> driver = make_tcp_driver(*loop);
  std::vector<std::unique_ptr<net::Listener>> listeners;
  std::list<Recorder> accepted;
  Recorder dialed;
};

TEST_F(TcpDriver, FillsInThePortThatWasLeftOpen) {
  EXPECT_GT(listen("tcp://127.0.0.1:0")->port, 0);
  EXPECT_EQ(listen("tcp://[::1]:0")->host, "::1");
  EXPECT_EQ(listen("tcp://localhost:0")->host, "127.0.0.1");
}

TEST_F(TcpDriver, TellsTheAddressThatIsToBeAdvertised) {
  use({.advertised_host = "node-7"});

  const Result<net::Address> address = listen("tcp://127.0.0.1:0");

  EXPECT_EQ(address->host, "node-7");
  EXPECT_GT(address->port, 0);
}

TEST_F(TcpDriver, TakesTheFirstFreePortOfARangeAndSaysWhenThereIsNone) {
  // Three ports in a row, of which the first is taken and nobody has the others.
  std::string range;
  std::optional<PlainSocket> taken;
  bool has_the_others = false;
  for (int attempt = 0; attempt < 100 && !has_the_others; ++attempt) {
    stop_listening();
    const int first = taken.emplace().listen_with(1);
    if (first > 60'000) continue;
    range = "tcp://127.0.0.1:" + std::to_string(first) + "-" + std::to_string(first + 2);
    const Result<net::Address> second = listen(range);
    const Result<net::Address> third = listen(range);
    has_the_others = second && second->port == first + 1 && third && third->port == first + 2;
  }
  ASSERT_TRUE(has_the_others) << "the last range tried was " << range;

  const Result<net::Address> none = listen(range);

  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::unavailable);
  EXPECT_NE(none.error().message().find("listen on " + range + ": no port of the range is free"),
            std::string::npos)
      << none.error().message();
}

// The descriptors of this process that are connected TCP sockets.
std::vector<int> connected_sockets() {
  std::vector<int> found;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    const std::optional<SocketAddress> peer = SocketAddress::of_peer(descriptor);
    if (peer && peer->family() == AF_INET) found.push_back(descriptor);
  }
  return found;
}

// How much lies before an urgent frame cannot be held to the byte through two kernels.
TEST_F(TcpDriver, LeavesAtMostAQuarterOfAMebibyteUnsentInTheKernelAtBothEnds) {
  ASSERT_TRUE(dial(*listen("tcp://127.0.0.1:0")));
  ASSERT_TRUE(wait([&] { return accepted.size() == 1; }));

  const std::vector<int> ends = connected_sockets();

  EXPECT_EQ(ends.size(), 2U);
  for (const int end : ends) {
    int unsent = 0;
    socklen_t size = sizeof unsent;
    ASSERT_EQ(getsockopt(end, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, &size), 0);
    EXPECT_EQ(unsent, 256 << 10);
  }
}

TEST_F(TcpDriver, SaysWhenAPortIsTaken) {
  const Result<net::Address> address = listen("tcp://127.0.0.1:0");

  const Result<net::Address> again = listen(address->to_string());

  EXPECT_EQ(again.error().code(), Code::unavailable);
  EXPECT_NE(again.error().message().find(address->to_string()), std::string::npos);
}

TEST_F(TcpDriver, GoesNowhereBeyondLoopbackWithoutEncryption) {
  for (const char* address : {"tcp://0.0.0.0:7000", "tcp://[::]:7000", "tcp://192.0.2.1:7000",
                              "tcp://[2001:db8::1]:7000", "tcp://[::ffff:192.0.2.1]:7000"}) {
    for (const Error& error : {listen(address).error(), dial(address).error()}) {
      EXPECT_EQ(error.code(), Code::unsupported) << address;
      EXPECT_NE(error.message().find("encryption"), std::string::npos) << error.message();
    }
  }
}

TEST_F(TcpDriver, RefusesAddressesThatMakeNoSense) {
  EXPECT_EQ(dial("tcp://127.0.0.1:0").error().code(), Code::invalid);
  EXPECT_EQ(dial("tcp://127.0.0.1:7000-7001").error().code(), Code::invalid);
  EXPECT_EQ(listen("tcp://some-name:7000").error().code(), Code::invalid);
}

TEST_F(TcpDriver, LocalhostIsFoundWhereverItListens) {
  for (const char* host : {"tcp://127.0.0.1:0", "tcp://[::1]:0"}) {
    const std::size_t before = accepted.size();
    net::Address address = *listen(host);
    address.host = "localhost";

    ASSERT_TRUE(dial(address));

    EXPECT_TRUE(wait([&] { return accepted.size() == before + 1; }));
    const loop::Turn turn(*loop);
    dialed.connection.reset();
  }
}

TEST_F(TcpDriver, KnowsItsPeerToBeOnThisHost) {
  ASSERT_TRUE(dial(*listen("tcp://[::1]:0")));
  ASSERT_TRUE(wait([&] { return !accepted.empty(); }));

  const loop::Turn turn(*loop);
  EXPECT_EQ(dialed.connection->peer().address, listeners[0]->address().to_string());
  const net::Peer peer = accepted.front().connection->peer();
  EXPECT_TRUE(peer.address.starts_with("tcp://[::1]:")) << peer.address;
  EXPECT_TRUE(peer.is_same_host);
  EXPECT_EQ(peer.pid, 0);
}

TEST_F(TcpDriver, ADialThatNobodyAnswersEndsAsUnavailable) {
  const PlainSocket unused;
  const auto here = *SocketAddress::parse("127.0.0.1", 0);
  bind(unused.fd, here.data(), here.size());  // Bound, but it does not listen.
  const net::Address address = SocketAddress::of_local(unused.fd)->address();

  ASSERT_TRUE(dial(address));

  ASSERT_TRUE(wait([&] { return dialed.why.has_value(); }));
  EXPECT_EQ(dialed.why->code(), Code::unavailable);
  EXPECT_NE(dialed.why->message().find("dial " + address.to_string()), std::string::npos);
}

TEST_F(TcpDriver, ADialGivesUpWhenItsTimeIsOver) {
  use_manual_clock();
  // Whoever finds a full backlog hears nothing at all.
  const PlainSocket deaf;
  const std::uint16_t port = deaf.listen_with(0);
  std::array<PlainSocket, 8> crowd;
  for (const PlainSocket& one : crowd) {
    fcntl(one.fd, F_SETFL, O_NONBLOCK);
    one.connect_to(port);
  }
  ASSERT_TRUE(dial("tcp://127.0.0.1:" + std::to_string(port)));
  loop->run_ready();
  ASSERT_FALSE(dialed.why);

  clock.advance(TcpOptions().connect_timeout);
  loop->run_ready();

  ASSERT_TRUE(dialed.why);
  EXPECT_EQ(dialed.why->code(), Code::unavailable);
  const loop::Turn turn(*loop);
  dialed.connection.reset();
}

TEST_F(TcpDriver, AStrangersClaimCostsItsConnectionOnly) {
  const std::uint16_t port = listen("tcp://127.0.0.1:0")->port;
  const PlainSocket stranger;
  stranger.connect_to(port);
  wire::Frame frame = net::testing::make_frame({0, {0}}, 0);
  std::array<std::byte, wire::kPrefixSize + wire::kPartSizeSize> claim;
  wire::write_prefix(frame, claim);
  wire::store(claim.data() + wire::kPrefixSize, wire::kMaxPart);

  ASSERT_EQ(send(stranger.fd, claim.data(), claim.size(), 0), std::ssize(claim));

  ASSERT_TRUE(wait([&] { return !accepted.empty() && accepted.front().why; }));
  EXPECT_EQ(accepted.front().why->code(), Code::invalid);
  ASSERT_TRUE(dial("tcp://127.0.0.1:" + std::to_string(port)));
  EXPECT_TRUE(wait([&] { return accepted.size() == 2; }));
}

TEST_F(TcpDriver, AListenerMayEndInsideItsOwnCall) {
  const loop::Turn turn(*loop);
  std::unique_ptr<net::Listener> listener;
  listener = *driver->listen(*net::Address::parse("tcp://127.0.0.1:0"),
                             [&](std::unique_ptr<net::Connection> connection) -> net::Sink& {
                               listener.reset();
                               accepted.emplace_back().connection = std::move(connection);
                               return accepted.back();
                             });
  const PlainSocket one;
  const PlainSocket two;
  one.connect_to(listener->address().port);
  two.connect_to(listener->address().port);

  while (accepted.empty()) loop->run_ready();

  EXPECT_EQ(accepted.size(), 1U);
  EXPECT_EQ(listener, nullptr);
}

// Lets the process open no further descriptor while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(TcpDriver, AProcessWithoutDescriptorsStopsAcceptingForAMoment) {
  std::vector<std::string> lines;
  log::to(log::Level::warning,
          [&](log::Level, std::string_view line) { lines.emplace_back(line); });
  use_manual_clock();
  const std::uint16_t port = listen("tcp://127.0.0.1:0")->port;
  const PlainSocket caller;
  std::optional<NoDescriptors> shortage(std::in_place);
  caller.connect_to(port);

  while (lines.empty()) loop->run_ready();
  EXPECT_FALSE(loop->run_ready()) << "it must not try again and again";
  shortage.reset();
  EXPECT_FALSE(loop->run_ready());
  EXPECT_TRUE(accepted.empty());

  clock.advance(std::chrono::seconds(1));
  while (accepted.empty()) loop->run_ready();
  EXPECT_EQ(lines.size(), 1U);
  log::to(log::Level::off, nullptr);
}

}  // namespace
}  // namespace muster::drivers
