// End: one end of a connection under test. Keeps the connection, hears its news.
//
// It complains by itself, as a test failure, of news that come from inside a
// call, after the end, or without the baton. What has no "Any thread." needs
// the baton of its loop.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/testing/pattern.h"

namespace muster::net::testing {

class End final : public Sink {
 public:
  explicit End(loop::Loop& loop) : loop_(loop) {}
  // Any thread.
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  std::unique_ptr<Connection> connection;

  // What to do with news besides counting them. Frames are kept if this has
  // no `take`; memory comes from the driver if it has no `provide`.
  std::function<void(wire::Frame&)> take;
  std::function<WritableBuffer(const wire::Head&, std::size_t, std::uint64_t)> provide;
  std::function<void()> when_room;
  std::function<void()> when_closed;
  std::vector<wire::Frame> frames;
  std::optional<Error> why;

  // Any thread, all below.
  Status send(wire::Frame& frame);
  Status send(wire::Frame&& frame) { return send(frame); }
  void close();
  void drop();  // Destroys the connection.
  std::vector<wire::Frame> take_frames();
  std::size_t max_body();
  bool passes(const Buffer& part);
  std::optional<Code> closed_with();

  bool has_frames() const { return kept_count_ > 0; }
  std::size_t frame_count() const { return frame_count_; }
  std::size_t place_count() const { return place_count_; }
  int room_count() const { return room_count_; }
  int closed_count() const { return closed_count_; }
  bool is_closed() const { return closed_count_ > 0; }
  loop::Loop& loop() const { return loop_; }

 private:
  void on_frame(wire::Frame& frame) override;
  WritableBuffer place(const wire::Head& head, std::size_t part, std::uint64_t size) override;
  void on_room() override;
  void on_closed(Error why) override;
  void check_news(const char* what) const;

  loop::Loop& loop_;
  bool is_inside_call_ = false;
  std::atomic<std::size_t> kept_count_{0};
  std::atomic<std::size_t> frame_count_{0};
  std::atomic<std::size_t> place_count_{0};
  std::atomic<int> room_count_{0};
  std::atomic<int> closed_count_{0};
};

// What frame number `index` of a conversation looks like.
using ShapeOf = std::function<Shape(std::size_t index)>;

// Checks that the frames `end` gets are those of `shape` and of seeds from
// `seed` on, one after the other.
void expect_frames(End& end, ShapeOf shape, std::uint64_t seed);

// Makes `end` send back all it gets, in order, and wait for room where it has to.
void echo(End& end);

// Sends frames that are made one after the other, and waits for room whenever
// it has to. Goes after its end.
class Stream {
 public:
  using Make = std::function<wire::Frame(std::size_t index)>;
  Stream(End& end, std::size_t count, Make make);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Any thread, all of these.
  void start();
  std::size_t sent() const { return sent_; }
  bool is_done() const { return sent_ == count_; }
  int overloads() const { return overloads_; }

 private:
  void go_on();

  End& end_;
  const std::size_t count_;
  Make make_;
  std::optional<wire::Frame> waiting_;
  std::atomic<std::size_t> sent_{0};
  std::atomic<int> overloads_{0};
};

// More than any test sends.
inline constexpr std::size_t kEndless = 1'000'000'000;

// Frames of `shape` and of seeds from `seed` on, as expect_frames() wants them.
Stream::Make frames_of(ShapeOf shape, std::uint64_t seed);
// Frames of one part that is as large as `end` can send, and at most 16 MiB.
Stream::Make bodies_for(End& end);
// Frames of one part of 64 KiB to 3 MiB, or what `end` can send, and of seeds from 0 on:
// some in memory that the peer can read where it lies, if the driver has such.
Stream::Make shared_bodies_for(End& end);

}  // namespace muster::net::testing
