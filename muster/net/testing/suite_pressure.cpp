// Pressure: full queues, a peer that stops reading, a crowd of connections.

#include <algorithm>
#include <utility>

#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

// Sends as long as there is room, without letting the loop move. How many went.
std::size_t fill_queue(End& end, const Stream::Make& make, std::size_t limit) {
  const loop::Turn turn(end.loop());
  for (std::size_t count = 0; count < limit; ++count) {
    wire::Frame frame = make(count);
    const wire::Frame before = frame;
    const Status sent = end.send(frame);
    if (sent) continue;

    EXPECT_EQ(sent.error().code(), Code::overloaded) << sent.error().describe();
    EXPECT_TRUE(std::ranges::equal(frame.head.bytes(), before.head.bytes())) << "was touched";
    EXPECT_EQ(frame.parts.size(), before.parts.size());
    for (std::size_t i = 0; i < frame.parts.size() && i < before.parts.size(); ++i) {
      EXPECT_EQ(frame.parts[i].data(), before.parts[i].data()) << "was touched";
      EXPECT_EQ(frame.parts[i].size(), before.parts[i].size()) << "was touched";
    }
    return count;
  }
  return limit;
}

constexpr std::size_t kEnough = 400'000;

}  // namespace

TEST_P(DriverSuite, AFullQueueLeavesTheFrameUntouchedAndTellsOfRoom) {
  for (const ShapeOf& shape : {ShapeOf([](std::size_t) { return Shape{16, {40}}; }),
                               ShapeOf([](std::size_t) { return Shape{16, {3, 4000}}; }),
                               ShapeOf([](std::size_t) { return Shape{16, {kLargePart}}; })}) {
    Host& host = listen([&](End& end) { expect_frames(end, shape, 0); });
    auto [near, far] = connect(host);

    const std::size_t fitted = fill_queue(near, frames_of(shape, 0), kEnough);

    ASSERT_LT(fitted, kEnough) << "the queue has no bound";
    EXPECT_GT(fitted, 0U);
    EXPECT_TRUE(run_until([&end = near] { return end.room_count() > 0; }));
    Stream rest(near, 100, frames_of(shape, fitted));
    rest.start();
    EXPECT_TRUE(run_until([&, &end = far] { return end.frame_count() >= fitted + 100; }));
    rig->settle();
    EXPECT_EQ(far.frame_count(), fitted + 100);
    near.drop();
  }
}

TEST_P(DriverSuite, RoomIsToldToOneWhoWaitsForTheConnectionToStand) {
  const ShapeOf shape = [](std::size_t) { return Shape{16, {3000}}; };
  Host& host = listen([&](End& end) { expect_frames(end, shape, 0); });
  End& near = dial(host);

  const std::size_t fitted = fill_queue(near, frames_of(shape, 0), kEnough);

  ASSERT_LT(fitted, kEnough) << "the queue has no bound";
  EXPECT_TRUE(run_until([&] { return near.room_count() > 0; }));
  EXPECT_TRUE(run_until([&] { return host.count() == 1 && host.end().frame_count() == fitted; }));
}

TEST_P(DriverSuite, APeerThatStopsReadingAndGoesOnGetsEverythingInOrder) {
  use_rig(Sides::apart);
  for (const std::size_t size : {std::size_t{100}, std::size_t{9000}, kLargePart}) {
    const ShapeOf shape = [size](std::size_t index) { return Shape{index % 100, {size}}; };
    Host& host = listen([&](End& end) { expect_frames(end, shape, 0); });
    auto [near, far] = connect(host);

    rig->set_far_reading(false);
    Stream stream(near, kEnough, frames_of(shape, 0));
    stream.start();
    EXPECT_TRUE(run_until([&] { return stream.overloads() > 0; })) << "the queue has no bound";
    rig->settle();
    const std::size_t total = stream.sent() + 50;
    rig->set_far_reading(true);

    EXPECT_TRUE(run_until([&, &end = far] { return end.frame_count() >= total; }));
    near.drop();
    EXPECT_TRUE(run_until([&end = far] { return end.is_closed(); }));
  }
}

TEST_P(DriverSuite, ClosingDoesNotWaitForAPeerThatHasStoppedReading) {
  use_rig(Sides::apart);
  Host& host = listen();
  auto [near, far] = connect(host);
  rig->set_far_reading(false);
  Stream stream(near, kEnough, frames_of([](std::size_t) { return Shape{8, {5000}}; }, 0));
  stream.start();
  EXPECT_TRUE(run_until([&] { return stream.overloads() > 0; }));

  near.close();

  EXPECT_TRUE(run_until([&end = near] { return end.is_closed(); }));
  EXPECT_EQ(near.closed_with(), Code::cancelled);
  rig->set_far_reading(true);
  EXPECT_TRUE(run_until([&end = far] { return end.is_closed(); }));
}

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kCrowd = 200;  // Each at a tenth of its speed.
#else
constexpr std::size_t kCrowd = 1000;
#endif

TEST_P(DriverSuite, ACrowdOfConnectionsStaysApart) {
  const std::size_t count = from_environment("MUSTER_SUITE_CONNECTIONS", kCrowd);
  Host& host = listen(echo);
  std::vector<End*> ends;
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t i = 0; i < count; ++i) {
    End& end = dial(host);
    expect_frames(end, mixed_shape, i * 1000);
    streams.push_back(std::make_unique<Stream>(end, 10, frames_of(mixed_shape, i * 1000)));
    ends.push_back(&end);
  }

  for (const auto& stream : streams) stream->start();

  EXPECT_TRUE(run_until([&] {
    return std::ranges::all_of(ends, [](End* end) { return end->frame_count() == 10; });
  }));
  EXPECT_EQ(host.count(), count);
  for (End* end : ends) end->close();
  EXPECT_TRUE(run_until(
      [&] { return std::ranges::all_of(ends, [](End* end) { return end->is_closed(); }); }));
}

// More of them than any driver keeps an eye on, and nothing comes after.
TEST_P(DriverSuite, BurstsOnManyConnectionsArriveWhole) {
  const ShapeOf shape = [](std::size_t) { return Shape{16, {40}}; };
  Host& host = listen([&](End& end) { expect_frames(end, shape, 0); });
  std::vector<std::pair<End*, End*>> pairs;
  for (int i = 0; i < 12; ++i) {
    auto [near, far] = connect(host);
    pairs.emplace_back(&near, &far);
  }

  std::vector<std::size_t> fitted;
  {
    const loop::Turn turn(pairs.front().first->loop());
    for (const auto& [near, far] : pairs) {
      fitted.push_back(fill_queue(*near, frames_of(shape, 0), 300));
    }
  }

  for (std::size_t i = 0; i < pairs.size(); ++i) {
    End& far = *pairs[i].second;
    EXPECT_TRUE(run_until([&] { return far.frame_count() == fitted[i]; }))
        << far.frame_count() << " of " << fitted[i] << " on connection " << i;
  }
}

}  // namespace muster::net::testing
