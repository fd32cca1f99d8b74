// Frames: whole, in order, whatever their shape.

#include <algorithm>

#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
TEST_P(DriverSuite, FramesArriveWholeAndInOrderInBothDirections) {
  constexpr std::size_t kCount = 1000;
  Host& host = listen([](End& end) { expect_frames(end, mixed_shape, 5'000'000); });
  auto [near, far] = connect(host);
  expect_frames(near, mixed_shape, 0);
  Stream there(near, kCount, frames_of(mixed_shape, 5'000'000));
  Stream back(far, kCount, frames_of(mixed_shape, 0));

  there.start();
  back.start();

  EXPECT_TRUE(run_until([&, &to = near, &from = far] {
    return to.frame_count() == kCount && from.frame_count() == kCount;
  }));
  rig->settle();
  EXPECT_EQ(near.frame_count(), kCount);
  EXPECT_EQ(far.frame_count(), kCount);
}

TEST_P(DriverSuite, HeadsOfEverySizeArriveWithPartsOfEverySmallNumber) {
  constexpr std::size_t kCount = wire::kMaxHead + 1;
  const auto shape = [](std::size_t index) {
    return Shape{index, std::vector<std::size_t>(index % 65, index)};
  };
  Host& host = listen([&](End& end) { expect_frames(end, shape, 1); });
  End& near = connect(host).first;
  Stream stream(near, kCount, frames_of(shape, 1));

  stream.start();

  EXPECT_TRUE(run_until([&] { return host.end().frame_count() == kCount; }));
}

TEST_P(DriverSuite, WhatIsSentBeforeTheConnectionStandsArrivesFirst) {
  Host& host = listen([](End& end) { expect_frames(end, mixed_shape, 9); });

  End& near = dial(host);
  Stream stream(near, 20, frames_of(mixed_shape, 9));
  stream.start();

  EXPECT_TRUE(run_until([&] { return host.count() == 1 && host.end().frame_count() == 20; }));
}

TEST_P(DriverSuite, TheOneWhoAcceptsMaySendAtOnce) {
  const Shape shape{16, {100}};
  Host& host = listen([shape](End& end) { EXPECT_TRUE(end.send(make_frame(shape, 3))); });

  End& near = dial(host);

  ASSERT_TRUE(run_until([&] { return near.frame_count() == 1; }));
  EXPECT_TRUE(is_frame(near.take_frames()[0], shape, 3));
}

TEST_P(DriverSuite, AFrameOfTheMostPartsArrives) {
  const Shape shape{64, std::vector<std::size_t>(wire::kMaxParts, 33)};
  Host& host = listen();
  auto [near, far] = connect(host);

  EXPECT_TRUE(near.send(make_frame(shape, 4)));

  ASSERT_TRUE(run_until([&end = far] { return end.frame_count() == 1; }));
  EXPECT_TRUE(is_frame(far.take_frames()[0], shape, 4));
}

TEST_P(DriverSuite, AFrameOfTooManyPartsIsRefusedAndTheConnectionGoesOn) {
  const Shape shape{64, std::vector<std::size_t>(wire::kMaxParts + 1, 1)};
  Host& host = listen();
  auto [near, far] = connect(host);

  const Status sent = near.send(make_frame(shape, 4));

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::invalid);
  EXPECT_TRUE(near.send(make_frame({8, {8}}, 5)));
  ASSERT_TRUE(run_until([&end = far] { return end.frame_count() == 1; }));
  EXPECT_TRUE(is_frame(far.take_frames()[0], {8, {8}}, 5));
}

TEST_P(DriverSuite, ManySmallFramesPassWhileALargeOneIsUnderWay) {
  constexpr std::size_t kSmall = 500;
  constexpr std::size_t kBulk = std::size_t{32} << 20;
  const auto small = [](std::size_t) { return Shape{24, {64}}; };
  Host& bulk = listen();
  Host& replier = listen(echo);
  auto [bulk_near, bulk_far] = connect(bulk);
  auto [near, far] = connect(replier);
  expect_frames(near, small, 200);
  const std::size_t chunk = std::min(kBulk, bulk_near.max_body());
  const auto large = [chunk](std::size_t) { return Shape{24, {chunk}}; };
  expect_frames(bulk_far, large, 100);
  Stream chunks(bulk_near, kBulk / chunk, frames_of(large, 100));
  Stream calls(near, kSmall, frames_of(small, 200));

  chunks.start();
  calls.start();

  EXPECT_TRUE(run_until([&, &to = near, &from = bulk_far] {
    return to.frame_count() == kSmall && from.frame_count() == kBulk / chunk;
  }));
}

// Two ends that answer each other for ever must leave the loop to others.
TEST_P(DriverSuite, AnEndlessConversationDoesNotKeepTheLoop) {
  const auto answer = [](End& end) {
    end.take = [&end](wire::Frame& frame) { (void)end.send(frame); };
  };
  Host& host = listen(answer);
  auto [near, far] = connect(host);
  {
    const loop::Turn turn(near.loop());
    answer(near);
  }

  EXPECT_TRUE(near.send(make_frame({8, {8}}, 1)));

  EXPECT_TRUE(run_until([&end = near] { return end.frame_count() > 100; }));
  near.close();
  EXPECT_TRUE(run_until([&to = near, &from = far] { return to.is_closed() && from.is_closed(); }));
}

}  // namespace muster::net::testing
