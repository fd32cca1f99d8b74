// What is the zmq driver's alone: who is let in, rotation, counters, addresses.

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <zmq.h>

#include "muster/base/descriptor.h"
#include "muster/base/log.h"
#include "muster/drivers/zmq/curve_keys.h"
#include "muster/drivers/zmq/packet.h"
#include "muster/drivers/zmq/zmq.h"
#include "muster/net/socket_address.h"
#include "muster/net/testing/end.h"

namespace muster::drivers {
namespace {

using net::testing::End;
using net::testing::make_frame;
using std::chrono::milliseconds;
using std::chrono::seconds;

net::Token token(std::uint32_t generation, int filled_with = 1) {
  return {generation, std::vector<std::byte>(32, static_cast<std::byte>(filled_with + generation))};
}

// Tokens that a test replaces.
class Changing final : public net::TokenSource {
 public:
  explicit Changing(std::vector<net::Token> tokens) : tokens_(std::move(tokens)) {}
  std::vector<net::Token> accepted() override {
    const std::scoped_lock lock(mutex_);
    return tokens_;
  }
  void replace(std::vector<net::Token> tokens) {
    const std::scoped_lock lock(mutex_);
    tokens_ = std::move(tokens);
  }

 private:
  std::mutex mutex_;
  std::vector<net::Token> tokens_;
};

class ZmqDriver : public ::testing::Test {
 protected:
  // One end of a conversation: a driver, and what it dialed or let in.
  struct Side {
    std::unique_ptr<net::Driver> driver;
    std::unique_ptr<net::Listener> listener;
    std::list<End> ends;
  };

  explicit ZmqDriver(const loop::LoopOptions& options = {}) : loop(*loop::Loop::make(options)) {}
  ~ZmqDriver() override {
    const loop::Turn turn(*loop);
    for (Side& side : sides) side.listener.reset();
    for (Side& side : sides) side.ends.clear();
    for (Side& side : sides) side.driver.reset();
  }

  Side& make_side(ZmqOptions options) {
    options.token_refresh = milliseconds(10);
    sides.emplace_back().driver = make_zmq_driver(*loop, std::move(options));
    return sides.back();
  }
  Side& knowing(std::vector<net::Token> tokens) {
    return make_side({.tokens = *net::make_fixed_tokens(std::move(tokens))});
  }
  net::Address listen(Side& side, const char* text = "zmq://127.0.0.1:0") {
    const loop::Turn turn(*loop);
    auto listener = side.driver->listen(
        *net::Address::parse(text), [this, &side](std::unique_ptr<net::Connection> came) -> End& {
          End& end = side.ends.emplace_back(*loop);
          end.connection = std::move(came);
          return end;
        });
    EXPECT_TRUE(listener) << listener.error().describe();
    side.listener = *std::move(listener);
    return side.listener->address();
  }
  End& dial(Side& side, const net::Address& address) {
    const loop::Turn turn(*loop);
    End& end = side.ends.emplace_back(*loop);
    auto dialed = side.driver->dial(address, end);
    EXPECT_TRUE(dialed) << dialed.error().describe();
    if (dialed) end.connection = *std::move(dialed);
    return end;
  }
  bool run_until(const std::function<bool()>& done) {
    return loop->wait_until(done, loop->now() + seconds(60));
  }
  // Dials, sends a frame, and says whether it arrived; else the dialer was told.
  bool reaches(Side& from, const net::Address& address, Side& to) {
    const std::size_t before = to.ends.size();
    End& end = dial(from, address);
    EXPECT_TRUE(end.send(make_frame({8, {100}}, 1)));
    EXPECT_TRUE(run_until([&] {
      return end.is_closed() || (to.ends.size() > before && to.ends.back().has_frames());
    }));
    return !end.is_closed();
  }

  // Tries until it does: a listener asks for new tokens now and then.
  bool comes_to_reach(Side& from, const net::Address& address, Side& to) {
    const TimePoint deadline = loop->now() + seconds(60);
    while (!reaches(from, address, to)) {
      if (loop->now() > deadline) return false;
    }
    return true;
  }

  std::unique_ptr<loop::Loop> loop;
  std::list<Side> sides;
};

TEST_F(ZmqDriver, NobodyTakesTheSecondPortBeforeItIsNeeded) {
  const net::Address address = listen(knowing({token(1)}));
  const auto second =
      static_cast<std::uint16_t>(std::stoi(address.options.substr(std::string("also=").size())));
  const Descriptor thief(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(thief.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const auto there = *net::SocketAddress::parse("127.0.0.1", second);
  EXPECT_NE(bind(thief.get(), there.data(), there.size()), 0);

  Side& other = knowing({token(1)});
  const loop::Turn turn(*loop);
  const std::string same = "zmq://127.0.0.1:0?also=" + std::to_string(second);
  EXPECT_EQ(
      other.driver->listen(*net::Address::parse(same), [](auto) -> net::Sink& { std::abort(); })
          .error()
          .code(),
      Code::unavailable);
}

TEST_F(ZmqDriver, AWrongTokenIsRefusedAndLoggedWithoutBeingShown) {
  std::mutex mutex;
  std::vector<std::string> lines;
  log::to(log::Level::warning, [&](log::Level, std::string_view line) {
    const std::scoped_lock lock(mutex);
    lines.emplace_back(line);
  });
  Side& server = knowing({token(1)});
  const net::Address address = listen(server);

  End& end = dial(knowing({token(1, 50)}), address);

  ASSERT_TRUE(run_until([&] { return end.is_closed(); }));
  EXPECT_EQ(end.closed_with(), Code::unavailable);
  EXPECT_NE(end.why->message().find("token"), std::string::npos) << end.why->message();
  EXPECT_TRUE(server.ends.empty());
  EXPECT_TRUE(run_until([&] {
    const std::scoped_lock lock(mutex);
    return !lines.empty();
  }));
  log::to(log::Level::off, nullptr);
  EXPECT_NE(lines[0].find("zmq stranger refused"), std::string::npos) << lines[0];
}

// It knows the server's key, which is no secret, but has another of its own.
TEST_F(ZmqDriver, WhoHasNoKeyOfAMembersIsTurnedAwayByTheDoorkeeper) {
  Side& server = knowing({token(1)});
  const net::Address address = listen(server);
  const zmq::CurveKeys keys = zmq::curve_keys(token(1));
  const zmq::CurveKeys other = zmq::curve_keys(token(1, 50));
  void* const context = zmq_ctx_new();
  const auto say_hello_with = [&](const zmq::KeyPair& own) {
    void* const socket = zmq_socket(context, ZMQ_DEALER);
    const int linger = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, keys.server.open.data(), 32);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, own.open.data(), 32);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own.secret.data(), 32);
    zmq_connect(socket, ("tcp://127.0.0.1:" + std::to_string(address.port)).c_str());
    zmq_send(socket, "\1muster zmq 1", 13, 0);
    return socket;
  };

  void* const stranger = say_hello_with(other.client);
  void* const reflected = say_hello_with(keys.server);
  void* const member = say_hello_with(keys.client);

  EXPECT_TRUE(run_until([&] { return !server.ends.empty(); }));
  // Had they been let in, their hellos would have come before this one's end.
  zmq_close(member);
  EXPECT_TRUE(run_until([&] { return server.ends.front().is_closed(); }));
  EXPECT_EQ(server.ends.size(), 1U);
  zmq_close(stranger);
  zmq_close(reflected);
  zmq_ctx_term(context);
}

TEST_F(ZmqDriver, BothGenerationsComeInWhileATokenIsBeingReplaced) {
  auto tokens = std::make_shared<Changing>(std::vector{token(1)});
  Side& server = make_side({.tokens = tokens});
  const net::Address address = listen(server);
  Side& old = knowing({token(1)});
  Side& both = knowing({token(2), token(1)});
  Side& next = knowing({token(2)});
  EXPECT_TRUE(reaches(old, address, server));
  EXPECT_TRUE(reaches(both, address, server)) << "a member that has the next token already";

  tokens->replace({token(2), token(1)});
  ASSERT_TRUE(comes_to_reach(next, address, server));

  EXPECT_TRUE(reaches(old, address, server));
  EXPECT_TRUE(reaches(both, address, server));
  for (End& end : server.ends) EXPECT_FALSE(end.is_closed()) << "who was in stays in";
}

TEST_F(ZmqDriver, AnOldGenerationIsRefusedOnceItsTimeIsOver) {
  auto tokens = std::make_shared<Changing>(std::vector{token(2), token(1)});
  Side& server = make_side({.tokens = tokens});
  const net::Address address = listen(server);
  Side& old = knowing({token(1)});
  EXPECT_TRUE(reaches(old, address, server));

  tokens->replace({token(2)});

  EXPECT_FALSE(reaches(old, address, server));
  EXPECT_FALSE(server.ends.front().is_closed()) << "who was in stays in";
  EXPECT_TRUE(reaches(knowing({token(2)}), address, server));
}

TEST_F(ZmqDriver, TheThirdGenerationTakesThePortOfTheFirst) {
  auto tokens = std::make_shared<Changing>(std::vector{token(1)});
  Side& server = make_side({.tokens = tokens});
  const net::Address address = listen(server);
  Side& first = knowing({token(1)});
  EXPECT_TRUE(reaches(first, address, server));
  tokens->replace({token(2), token(1)});
  Side& second = knowing({token(2)});
  ASSERT_TRUE(comes_to_reach(second, address, server));

  tokens->replace({token(3), token(2)});

  Side& third = knowing({token(3)});
  ASSERT_TRUE(comes_to_reach(third, address, server));
  EXPECT_TRUE(reaches(second, address, server));
  EXPECT_TRUE(run_until([&] { return first.ends.front().is_closed(); }));
}

TEST_F(ZmqDriver, ANewGenerationTakesThePortOfTheOldest) {
  auto tokens = std::make_shared<Changing>(std::vector{token(2), token(1)});
  Side& server = make_side({.tokens = tokens});
  const net::Address address = listen(server);
  Side& second = knowing({token(2)});
  ASSERT_TRUE(comes_to_reach(second, address, server));
  End& near = second.ends.back();
  End& far = server.ends.back();

  tokens->replace({token(3)});

  Side& third = knowing({token(3)});
  ASSERT_TRUE(comes_to_reach(third, address, server));
  EXPECT_TRUE(near.send(make_frame({8, {100}}, 2)));
  EXPECT_TRUE(run_until([&] { return near.is_closed() || far.frame_count() == 2; }));
  EXPECT_FALSE(near.is_closed()) << "links that are up stay up";
}

TEST_F(ZmqDriver, CountsEveryByteOfABodyThatPassesThroughLibzmq) {
  auto sent = std::make_shared<ZmqCounters>();
  auto received = std::make_shared<ZmqCounters>();
  const auto tokens = *net::make_fixed_tokens({token(1)});
  Side& server = make_side({.tokens = tokens, .counters = received});
  const net::Address address = listen(server);
  Side& client = make_side({.tokens = tokens, .counters = sent});
  End& end = dial(client, address);

  const std::vector<std::size_t> sizes = {0, 1, 1000, 20'000, 65'536, 256 << 10};
  std::uint64_t sum = 0;
  for (const std::size_t size : sizes) {
    EXPECT_TRUE(end.send(make_frame({8, {size}}, 1)));
    sum += size;
  }

  ASSERT_TRUE(run_until([&] {
    return server.ends.size() == 1 && server.ends.front().frame_count() == sizes.size();
  }));
  EXPECT_EQ(sent->frames_sent, sizes.size());
  EXPECT_EQ(sent->bytes_sent, sum);
  EXPECT_EQ(received->frames_received, sizes.size());
  EXPECT_EQ(received->bytes_received, sum);
  EXPECT_EQ(sent->frames_received + received->frames_sent, 0U);
}

TEST_F(ZmqDriver, ABadPacketCostsItsConnectionOnly) {
  Side& server = make_side({});
  const net::Address address = listen(server, "zmq://127.0.0.1:0?curve=off");
  void* const context = zmq_ctx_new();
  void* const socket = zmq_socket(context, ZMQ_DEALER);
  const int linger = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
  zmq_connect(socket, ("tcp://127.0.0.1:" + std::to_string(address.port)).c_str());
  zmq_send(socket, "\1muster zmq 1", 13, 0);
  zmq_send(socket, "\2no frame at all", 16, 0);

  ASSERT_TRUE(run_until([&] { return !server.ends.empty() && server.ends.front().is_closed(); }));

  EXPECT_EQ(server.ends.front().closed_with(), Code::invalid);
  char goodbye = 0;
  EXPECT_EQ(zmq_recv(socket, &goodbye, 1, 0), 1);
  EXPECT_EQ(goodbye, 3);
  zmq_close(socket);
  zmq_ctx_term(context);
  EXPECT_TRUE(reaches(make_side({}), address, server));
}

// A socket of libzmq's own that says hello to a listener without encryption.
class Caller {
 public:
  explicit Caller(const net::Address& address) : socket_(zmq_socket(context_, ZMQ_DEALER)) {
    zmq_socket_monitor(socket_, "inproc://news", ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    zmq_connect(news_, "inproc://news");
    zmq_connect(socket_, ("tcp://127.0.0.1:" + std::to_string(address.port)).c_str());
    zmq_send(socket_, "\1muster zmq 1", 13, 0);
  }
  ~Caller() { hang_up(); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void send(wire::Frame frame) {
    zmq::PacketQueue queue;
    queue.push(frame);
    zmq_send(socket_, queue.front().bytes.data(), queue.front().bytes.size(), 0);
  }
  void wait_until_heard() {
    char ignored[16];
    EXPECT_GE(zmq_recv(news_, ignored, sizeof ignored, 0), 0);
  }
  // Once all that was sent has left.
  void hang_up() {
    if (socket_ == nullptr) return;
    zmq_close(news_);
    zmq_close(std::exchange(socket_, nullptr));
    zmq_ctx_term(context_);
  }

 private:
  void* context_ = zmq_ctx_new();
  void* news_ = zmq_socket(context_, ZMQ_PAIR);
  void* socket_;
};

// Nothing is read but while a test drives the loop.
class UndrivenZmqDriver : public ZmqDriver {
 protected:
  UndrivenZmqDriver() : ZmqDriver({.keeper = false}) {}
};

TEST_F(UndrivenZmqDriver, WhatAPeerSentBeforeItWentIsReadThoughThisSideWritesFirst) {
  constexpr std::size_t kFrames = 20;
  Side& server = make_side({});
  const net::Address address = listen(server, "zmq://127.0.0.1:0?curve=off");
  Caller peer(address);
  ASSERT_TRUE(run_until([&] { return !server.ends.empty(); }));
  End& end = server.ends.front();
  for (std::size_t i = 0; i < kFrames; ++i) peer.send(make_frame({8, {100}}, i));
  peer.hang_up();
  // Its end comes to libzmq before the next one does.
  Caller next(address);
  next.wait_until_heard();

  EXPECT_TRUE(end.send(make_frame({8, {100}}, 0)));
  ASSERT_TRUE(run_until([&] { return end.is_closed(); }));

  EXPECT_EQ(end.frame_count(), kFrames);
  EXPECT_EQ(end.closed_with(), Code::unavailable);
}

TEST_F(ZmqDriver, WithoutATokenOnlyPlainLoopbackIsServed) {
  Side& side = make_side({});
  const loop::Turn turn(*loop);
  End end(*loop);
  const auto listened = side.driver->listen(*net::Address::parse("zmq://127.0.0.1:0"),
                                            [&](auto) -> End& { return end; });
  const auto dialed = side.driver->dial(*net::Address::parse("zmq://10.0.0.7:7000"), end);
  ASSERT_FALSE(listened);
  EXPECT_EQ(listened.error().code(), Code::unsupported);
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code(), Code::unsupported);
}

TEST_F(ZmqDriver, TellsItsPortsAndTheHostThatIsToBeAdvertised) {
  Side& side =
      make_side({.tokens = *net::make_fixed_tokens({token(1)}), .advertised_host = "node-7"});
  const net::Address address = listen(side);
  EXPECT_EQ(address.host, "node-7");
  EXPECT_NE(address.port, 0);
  EXPECT_TRUE(address.options.starts_with("also=")) << address.to_string();
  EXPECT_EQ(*net::Address::parse(address.to_string()), address);
}

TEST_F(ZmqDriver, AHostThatNobodyKnowsEndsUnavailableAndIsNamed) {
  End& end = dial(knowing({token(1)}), *net::Address::parse("zmq://nowhere.invalid:7000"));
  ASSERT_TRUE(run_until([&] { return end.is_closed(); }));
  EXPECT_EQ(end.closed_with(), Code::unavailable);
  EXPECT_NE(end.why->message().find("nowhere.invalid"), std::string::npos) << end.why->message();
}

}  // namespace
}  // namespace muster::drivers
