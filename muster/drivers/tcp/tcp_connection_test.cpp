#include "muster/drivers/tcp/tcp_connection.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/net/testing/pattern.h"

namespace muster::drivers::tcp {
namespace {

using net::testing::is_frame;
using net::testing::make_frame;
using net::testing::Shape;

// A stream that does as it is told. Its descriptor is always ready for writing,
// and for reading while there is something to read.
class ScriptedStream final : public Stream {
 public:
  struct Script {
    std::deque<Handshake> handshakes;  // Then done.
    std::deque<std::size_t> takes;     // Bytes per write, 0 blocks; then all.
    std::vector<std::byte> incoming;   // To be read, then the end if `ends`.
    bool ends = false;
    bool fails = false;  // The next write.
    std::size_t max_body = kFarBody;
    std::vector<std::byte> written;
    std::vector<std::size_t> writes;  // The size of each.
  };

  explicit ScriptedStream(Script& script) : script_(script) {
    ready_ = eventfd(script.incoming.empty() && !script.ends ? 0 : 1, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  ~ScriptedStream() override { ::close(ready_); }

  Handshake handshake() override {
    if (script_.handshakes.empty()) return Handshake::done;
    const Handshake next = script_.handshakes.front();
    script_.handshakes.pop_front();
    return next;
  }
  Transfer read(std::span<const iovec> into) override {
    if (script_.incoming.empty()) {
      return {script_.ends ? Transfer::State::ended : Transfer::State::blocked, 0};
    }
    std::size_t moved = 0;
    for (const iovec& run : into) {
      const std::size_t count = std::min(run.iov_len, script_.incoming.size() - moved);
      std::memcpy(run.iov_base, script_.incoming.data() + moved, count);
      moved += count;
    }
    script_.incoming.erase(script_.incoming.begin(),
                           script_.incoming.begin() + static_cast<std::ptrdiff_t>(moved));
    return {Transfer::State::moved, moved};
  }
  Transfer write(std::span<const iovec> from) override {
    if (script_.fails) return {Transfer::State::failed, 0};
    std::size_t room = SIZE_MAX;
    if (!script_.takes.empty()) {
      room = script_.takes.front();
      script_.takes.pop_front();
    }
    if (room == 0) return {Transfer::State::blocked, 0};
    std::size_t moved = 0;
    for (const iovec& run : from) {
      const auto* const data = static_cast<const std::byte*>(run.iov_base);
      const std::size_t count = std::min(run.iov_len, room - moved);
      script_.written.insert(script_.written.end(), data, data + count);
      moved += count;
    }
    script_.writes.push_back(moved);
    return {Transfer::State::moved, moved};
  }
  Error failure() const override { return {Code::unavailable, "broken by the script"}; }
  std::size_t max_body() const override { return script_.max_body; }
  int descriptor() const override { return ready_; }

 private:
  Script& script_;
  int ready_;
};

struct Recorder final : net::Sink {
  std::vector<wire::Frame> frames;
  int rooms = 0;
  std::function<void()> when_room;
  std::optional<Error> why;

  void on_frame(wire::Frame& frame) override { frames.push_back(std::move(frame)); }
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t) override { return {}; }
  void on_room() override {
    ++rooms;
    if (when_room) when_room();
  }
  void on_closed(Error error) override { why = std::move(error); }
};

// A connection over a scripted stream, under a clock that stands still.
struct Bench {
  explicit Bench(TcpOptions options = {}) : shared(*loop, std::move(options)) {}
  ~Bench() {
    const loop::Turn turn(*loop);
    connection.reset();
  }

  void start() {
    const loop::Turn turn(*loop);
    connection = std::make_unique<TcpConnection>(shared, net::Address{"tcp", "127.0.0.1", 7, 7});
    connection->take_up(std::make_unique<ScriptedStream>(script), sink);
  }
  // One turn of its own.
  Status send(const Shape& shape, std::uint64_t seed) {
    const loop::Turn turn(*loop);
    wire::Frame frame = make_frame(shape, seed);
    return connection->send(frame);
  }
  void run() {
    for (int i = 0; i < 10'000 && loop->run_ready(); ++i) continue;
  }

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make({.clock = &clock, .keeper = false});
  TcpShared shared;
  ScriptedStream::Script script;
  Recorder sink;
  std::unique_ptr<TcpConnection> connection;
};

// What a peer would make of these bytes.
std::vector<wire::Frame> parse(const std::vector<std::byte>& bytes) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  EXPECT_TRUE(reader.take(bytes, sink));
  EXPECT_FALSE(reader.is_inside());
  return std::move(sink.frames);
}

const std::vector<Shape> kShapes = {{24, {64}}, {3, {}}, {24, {6000, 0, 2}}, {0, {1}}};

TEST(TcpConnection, TakesUpAWriteThatWasCutAnywhere) {
  std::size_t whole = 1;
  // Each byte of what is copied and of its edges, a few of the part between.
  for (std::size_t cut = 0; cut < whole; cut += cut < 200 || cut + 200 > whole ? 1 : 101) {
    SCOPED_TRACE(cut);
    Bench bench;
    bench.script.takes = {cut, 0};
    bench.start();

    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const loop::Turn turn(*bench.loop);
      ASSERT_TRUE(bench.send(kShapes[i], i));
    }
    bench.run();

    const std::vector<wire::Frame> frames = parse(bench.script.written);
    ASSERT_EQ(frames.size(), kShapes.size());
    for (std::size_t i = 0; i < kShapes.size(); ++i)
      ASSERT_TRUE(is_frame(frames[i], kShapes[i], i));
    whole = bench.script.written.size();
  }
}

TEST(TcpConnection, ManyFramesOfOneTurnAreOneWrite) {
  Bench bench;
  bench.start();
  {
    const loop::Turn turn(*bench.loop);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(bench.send({24, {64, 10'000}}, i));
  }

  EXPECT_EQ(bench.script.writes.size(), 1U);
  EXPECT_EQ(parse(bench.script.written).size(), 50U);
}

TEST(TcpConnection, TurnsThatFollowEachOtherQuicklyAreWrittenTogetherSoon) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(bench.send({24, {64}}, i));
  EXPECT_EQ(bench.script.writes.size(), 1U + WriteGate::kFree);

  bench.run();

  EXPECT_EQ(bench.script.writes.size(), 2U + WriteGate::kFree);
  EXPECT_EQ(parse(bench.script.written).size(), 100U);
}

TEST(TcpConnection, ABatchIsWrittenAtOnce) {
  Bench bench;
  bench.start();
  std::uint64_t sent = 0;
  while (sent < 3 * WriteGate::kBatch) {
    ASSERT_TRUE(bench.send({24, {4000}}, sent));
    sent += 4000;
  }

  EXPECT_GE(bench.script.written.size(), 2 * WriteGate::kBatch);
  EXPECT_LE(bench.script.writes.size(), 5U + WriteGate::kFree);
}

TEST(TcpConnection, QuietSendersAreServedAtOnce) {
  Bench bench;
  bench.start();
  for (int i = 0; i < 20; ++i) {
    bench.clock.advance(WriteGate::kQuiet);
    ASSERT_TRUE(bench.send({24, {64}}, i));
    EXPECT_EQ(bench.script.writes.size(), i + 1U);
  }
}

TEST(TcpConnection, RefusesFramesWhileItsQueueIsFullAndTellsOfRoom) {
  Bench bench({.queue_limit = 1000});
  bench.script.takes = {0, 600, 0};
  bench.start();
  int sent = 0;
  {
    const loop::Turn turn(*bench.loop);
    wire::Frame frame;
    for (;; ++sent) {
      frame = make_frame({24, {50}}, sent);
      if (Status status = bench.connection->send(frame); !status) {
        EXPECT_EQ(status.error().code(), Code::overloaded);
        break;
      }
    }
    EXPECT_TRUE(is_frame(frame, {24, {50}}, sent)) << "what was refused is untouched";
  }
  EXPECT_EQ(sent, 12);
  EXPECT_EQ(bench.sink.rooms, 0);

  bench.run();

  EXPECT_EQ(bench.sink.rooms, 1);
  EXPECT_EQ(parse(bench.script.written).size(), 12U);
}

TEST(TcpConnection, ASinkThatFillsTheQueueWheneverThereIsRoomLetsTurnsEnd) {
  Bench bench({.queue_limit = 1000});
  bench.start();
  bench.sink.when_room = [&] {
    while (bench.send({24, {50}}, 0)) continue;
  };
  {
    const loop::Turn turn(*bench.loop);
    bench.sink.when_room();
  }

  for (int round = 1; round <= 5; ++round) {
    bench.clock.advance(WriteGate::kQuiet);
    EXPECT_TRUE(bench.loop->run_ready());
    EXPECT_EQ(bench.sink.rooms, round);
  }
}

TEST(TcpConnection, RefusesAFrameThatOthersWouldWaitForTooLong) {
  for (const std::size_t most : {kFarBody, kNearBody}) {
    Bench bench;
    bench.script.max_body = most;
    bench.start();

    EXPECT_EQ(bench.send({24, {most, 1}}, 0).error().code(), Code::invalid);
    EXPECT_EQ(bench.send({0, std::vector<std::size_t>(wire::kMaxParts + 1)}, 0).error().code(),
              Code::invalid);
    EXPECT_TRUE(bench.send({24, {most}}, 0));
  }
}

TEST(TcpConnection, FramesLeaveOnceHandsAreShaken) {
  Bench bench;
  bench.script.handshakes = {Stream::Handshake::wants_write, Stream::Handshake::wants_write};
  bench.start();
  ASSERT_TRUE(bench.send({24, {64}}, 1));
  EXPECT_TRUE(bench.script.written.empty());

  bench.run();

  EXPECT_EQ(parse(bench.script.written).size(), 1U);
}

TEST(TcpConnection, AHandshakeThatFailsEndsTheConnection) {
  Bench bench;
  bench.script.handshakes = {Stream::Handshake::failed};

  bench.start();

  ASSERT_TRUE(bench.sink.why);
  EXPECT_EQ(bench.sink.why->message(), "broken by the script");
}

TEST(TcpConnection, WhatThePeerSentBeforeItWentComesBeforeTheEnd) {
  Bench bench;
  bench.start();
  ASSERT_TRUE(bench.send({24, {64}}, 5));
  bench.script.incoming = std::exchange(bench.script.written, {});
  bench.script.ends = true;
  bench.script.fails = true;
  bench.clock.advance(WriteGate::kQuiet);

  ASSERT_TRUE(bench.send({24, {64}}, 6));

  ASSERT_EQ(bench.sink.frames.size(), 1U);
  EXPECT_TRUE(is_frame(bench.sink.frames[0], {24, {64}}, 5));
  ASSERT_TRUE(bench.sink.why);
  EXPECT_EQ(bench.sink.why->code(), Code::unavailable);
  EXPECT_EQ(bench.send({24, {64}}, 7).error().code(), Code::unavailable);
}

TEST(TcpConnection, BadBytesEndItAsInvalidAndAreLogged) {
  std::vector<std::string> lines;
  log::to(log::Level::warning,
          [&](log::Level, std::string_view line) { lines.emplace_back(line); });
  {
    Bench bench;
    const std::string_view stranger = "GET / HTTP/1.1\r\n\r\n";
    const auto bytes = std::as_bytes(std::span(stranger));
    bench.script.incoming.assign(bytes.begin(), bytes.end());

    bench.start();
    bench.run();

    ASSERT_TRUE(bench.sink.why);
    EXPECT_EQ(bench.sink.why->code(), Code::invalid);
    EXPECT_TRUE(bench.sink.frames.empty());
  }
  log::to(log::Level::off, nullptr);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("tcp://127.0.0.1:7"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace muster::drivers::tcp
