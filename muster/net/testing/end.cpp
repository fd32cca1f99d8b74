#include "muster/net/testing/end.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <gtest/gtest.h>

namespace muster::net::testing {

End::~End() {
  const loop::Turn turn(loop_);
  connection.reset();
}

Status End::send(wire::Frame& frame) {
  const loop::Turn turn(loop_);
  if (!connection) return Error(Code::cancelled, "the test has dropped this connection");
  is_inside_call_ = true;
  Status sent = connection->send(frame);
  is_inside_call_ = false;
  return sent;
}

void End::close() {
  const loop::Turn turn(loop_);
  is_inside_call_ = true;
  connection->close();
  is_inside_call_ = false;
}

void End::drop() {
  const loop::Turn turn(loop_);
  is_inside_call_ = true;
  connection.reset();
  is_inside_call_ = false;
}

std::vector<wire::Frame> End::take_frames() {
  const loop::Turn turn(loop_);
  kept_count_ = 0;
  return std::exchange(frames, {});
}

std::size_t End::max_body() {
  const loop::Turn turn(loop_);
  return connection->max_body();
}

bool End::passes(const Buffer& part) {
  const loop::Turn turn(loop_);
  return connection->passes(part);
}

std::optional<Code> End::closed_with() {
  const loop::Turn turn(loop_);
  return why ? std::optional(why->code()) : std::nullopt;
}

void End::check_news(const char* what) const {
  EXPECT_TRUE(loop_.is_held()) << what << " came without the baton";
  EXPECT_FALSE(is_inside_call_) << what << " came from inside a call";
  EXPECT_EQ(closed_count_, 0) << what << " came after the end";
}

void End::on_frame(wire::Frame& frame) {
  check_news("a frame");
  if (take) {
    take(frame);
  } else {
    frames.push_back(std::move(frame));
    ++kept_count_;
  }
  ++frame_count_;
}

WritableBuffer End::place(const wire::Head& head, std::size_t part, std::uint64_t size) {
  check_news("a wish for memory");
  EXPECT_GE(size, kLargePart) << "only large parts are placed";
  ++place_count_;
  return provide ? provide(head, part, size) : WritableBuffer();
}

void End::on_room() {
  check_news("room");
  ++room_count_;
  if (when_room) when_room();
}

void End::on_closed(Error reason) {
  check_news("the end");
  why = std::move(reason);
  ++closed_count_;
  if (when_closed) when_closed();
}

void expect_frames(End& end, ShapeOf shape, std::uint64_t seed) {
  const loop::Turn turn(end.loop());
  end.take = [&end, shape = std::move(shape), seed](wire::Frame& frame) {
    const std::size_t index = end.frame_count();
    EXPECT_TRUE(is_frame(frame, shape(index), seed + index));
  };
}

Stream::Make frames_of(ShapeOf shape, std::uint64_t seed) {
  return [shape = std::move(shape), seed](std::size_t index) {
    return make_frame(shape(index), seed + index);
  };
}

Stream::Make bodies_for(End& end) {
  return [&end](std::size_t index) {
    const std::size_t size = std::min(end.max_body(), std::size_t{16} << 20);
    return make_frame({32, {size}}, index);
  };
}

Stream::Make shared_bodies_for(End& end) {
  return [&end](std::size_t index) {
    const std::uint64_t chance = scramble(index);
    const std::size_t size = kLargePart + chance % (std::size_t{3} << 20);
    if ((chance >> 32) % 2 == 0) {
      wire::Frame frame = make_frame({32, {size}}, index);
      WritableBuffer memory = *end.connection->allocate(size);
      std::ranges::copy(frame.parts[0].bytes(), memory.data());
      frame.parts[0] = std::move(memory).freeze();
      if (end.connection->passes(frame.parts[0])) return frame;
    }
    return make_frame({32, {std::min(end.connection->max_body(), size)}}, index);
  };
}

void echo(End& end) {
  auto waiting = std::make_shared<std::deque<wire::Frame>>();
  end.when_room = [&end, waiting] {
    while (!waiting->empty() && end.send(waiting->front())) waiting->pop_front();
  };
  end.take = [&end, waiting](wire::Frame& frame) {
    waiting->push_back(std::move(frame));
    end.when_room();
  };
}

Stream::Stream(End& end, std::size_t count, Make make)
    : end_(end), count_(count), make_(std::move(make)) {}

Stream::~Stream() {
  const loop::Turn turn(end_.loop());
  end_.when_room = nullptr;
}

void Stream::start() {
  const loop::Turn turn(end_.loop());
  end_.when_room = [this] { go_on(); };
  go_on();
}

void Stream::go_on() {
  while (sent_ < count_) {
    if (!waiting_) waiting_ = make_(sent_);
    const Status sent = end_.send(*waiting_);
    if (!sent) {
      if (sent.error().code() == Code::overloaded) ++overloads_;
      return;
    }
    waiting_.reset();
    ++sent_;
  }
}

}  // namespace muster::net::testing
