// What becomes of data on its way to a peer that will never read it.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.h>

#include "muster/base/log.h"
#include "muster/drivers/zmq/packet.h"
#include "muster/drivers/zmq/zmq.h"
#include "muster/net/testing/end.h"

namespace muster::drivers {
namespace {

using net::testing::End;
using net::testing::kEndless;
using net::testing::Stream;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Body = std::shared_ptr<std::vector<std::byte>>;

// More than the kernel takes on the way to a peer that does not read, and less
// than it and libzmq take together.
constexpr std::uint64_t kOnTheWay = std::uint64_t{6} << 20;

Body make_body() { return std::make_shared<std::vector<std::byte>>(zmq::kMaxBody); }

// Frames of that one body.
Stream::Make frames_with(Body body) {
  return [body = std::move(body)](std::size_t) {
    wire::Frame frame;
    frame.parts.push_back(Buffer::keep(*body, body));
    return frame;
  };
}

// Holds up the thread of libzmq's that lets go of a body.
class Gate {
 public:
  Gate() = default;
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!std::exchange(is_open_, true)) opening_.set_value();
  }
  bool is_reached() const { return *is_reached_; }

  Body make_body() const {
    auto pass = [opened = opened_, is_reached = is_reached_](const std::vector<std::byte>* bytes) {
      *is_reached = true;
      opened.wait_for(seconds(60));
      delete bytes;
    };
    return {new std::vector<std::byte>(zmq::kMaxBody), pass};
  }

 private:
  std::promise<void> opening_;
  std::shared_future<void> opened_ = opening_.get_future().share();
  std::shared_ptr<std::atomic<bool>> is_reached_ = std::make_shared<std::atomic<bool>>(false);
  bool is_open_ = false;
};

// Somebody who speaks as members do, and reads nothing.
class Peer {
 public:
  explicit Peer(int type) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_LINGER, 0);
    set(ZMQ_IPV6, 1);
    set(ZMQ_RCVHWM, 1);
    set(ZMQ_RCVBUF, 4096);
  }
  ~Peer() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  net::Address listen() {
    EXPECT_EQ(zmq_bind(socket_, "tcp://[::1]:*"), 0);
    std::string text(100, '\0');
    std::size_t size = text.size();
    zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text.data(), &size);
    const auto port = static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
    return {"zmq", "::1", port, port, "curve=off"};
  }
  void call(const net::Address& address) {
    EXPECT_EQ(zmq_connect(socket_, ("tcp://[::1]:" + std::to_string(address.port)).c_str()), 0);
    zmq_send(socket_, "\1muster zmq 1", 13, 0);
  }

 private:
  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }

  void* context_;
  void* socket_;
};

class Lingering : public ::testing::Test {
 protected:
  Lingering() : loop(*loop::Loop::make()), counters(std::make_shared<ZmqCounters>()) {
    log::to(log::Level::warning, [this](log::Level, std::string_view) { has_warned = true; });
    const loop::Turn turn(*loop);
    driver = make_zmq_driver(*loop, {.counters = counters});
  }
  ~Lingering() override {
    end_driver();
    log::to(log::Level::off, nullptr);
  }

  void end_driver() {
    const loop::Turn turn(*loop);
    driver.reset();
  }
  void dial(const net::Address& address, End& end) {
    const loop::Turn turn(*loop);
    auto dialed = driver->dial(address, end);
    ASSERT_TRUE(dialed) << dialed.error().describe();
    end.connection = *std::move(dialed);
  }
  // Whoever calls is given to `end`.
  void listen(End& end) {
    const loop::Turn turn(*loop);
    auto made = driver->listen(*net::Address::parse("zmq://[::1]:0?curve=off"),
                               [&end](std::unique_ptr<net::Connection> came) -> End& {
                                 end.connection = std::move(came);
                                 return end;
                               });
    ASSERT_TRUE(made) << made.error().describe();
    listener = *std::move(made);
  }

  // Looks again and again: not all that happens wakes the loop.
  bool run_until(const std::function<bool()>& done) {
    const TimePoint deadline = loop->now() + seconds(30);
    while (loop->now() < deadline) {
      if (loop->wait_until(done, loop->now() + milliseconds(1))) return true;
    }
    return false;
  }

  std::unique_ptr<loop::Loop> loop;
  std::shared_ptr<ZmqCounters> counters;
  std::unique_ptr<net::Driver> driver;
  std::unique_ptr<net::Listener> listener;
  std::atomic<bool> has_warned = false;
};

// Several times, since it is for libzmq's threads to say who hears of it first;
// and by an address that libzmq writes as we do, for else it never tells its
// socket.
TEST_F(Lingering, WhatAPeerWasToGetIsLetGoWhenItIsLost) {
  for (int i = 0; i < 5; ++i) {
    std::weak_ptr<const void> watch;
    const std::uint64_t before = counters->bytes_sent;
    std::optional<Peer> peer(std::in_place, ZMQ_ROUTER);
    {
      End end(*loop);
      const Body body = make_body();
      watch = body;
      Stream stream(end, kEndless, frames_with(body));
      dial(peer->listen(), end);
      stream.start();
      ASSERT_TRUE(run_until([&] { return counters->bytes_sent - before >= kOnTheWay; }));

      peer.reset();

      ASSERT_TRUE(run_until([&] { return end.is_closed(); }));
      end.drop();
    }
    ASSERT_TRUE(run_until([&] { return watch.expired(); })) << "after " << i << " that were lost";
  }
}

// libzmq's thread hears of the socket's end before it hears of the listener's.
TEST_F(Lingering, AListenerEndsThoughACallerDoesNotReadAndLibzmqIsSlow) {
  Gate gate;
  Peer peer(ZMQ_DEALER);
  End end(*loop);
  listen(end);
  peer.call(listener->address());
  ASSERT_TRUE(run_until([&] { return end.connection != nullptr; }));
  ASSERT_TRUE(end.send(frames_with(gate.make_body())(0)));
  Stream stream(end, kEndless, frames_with(make_body()));
  stream.start();
  ASSERT_TRUE(run_until([&] { return gate.is_reached() && counters->bytes_sent >= kOnTheWay; }));

  {
    const loop::Turn turn(*loop);
    end.connection.reset();
    listener.reset();
  }
  // Time for another thread of libzmq's to pass the news on.
  loop->wait_until([] { return false; }, loop->now() + milliseconds(20));
  gate.open();
  end_driver();

  EXPECT_FALSE(has_warned) << "the driver has left libzmq's context behind";
}

}  // namespace
}  // namespace muster::drivers
