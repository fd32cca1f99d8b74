#include "muster/drivers/shm/shm.h"

#include <fstream>
#include <string>

#include "muster/arena/shared_block.h"
#include "muster/net/driver_limits.h"
#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"

namespace muster::net::testing {
namespace {

std::unique_ptr<Driver> shm(loop::Loop& loop) { return *drivers::make_shm_driver(loop); }
std::unique_ptr<Driver> without_process_vm(loop::Loop& loop) {
  return *drivers::make_shm_driver(loop, {.use_process_vm = false});
}
Address fresh() { return fresh_address("shm"); }

MUSTER_DRIVER_SUITE(Shm, make_subject("shm", shm, fresh),
                    make_subject("shm_apart", shm, fresh, Sides::apart),
                    make_subject("shm_no_process_vm", without_process_vm, fresh));
MUSTER_PROCESS_SUITE(Shm, make_subject("shm_process", shm, fresh),
                     make_subject("shm_process_no_process_vm", without_process_vm, fresh));
// Two chunks of 2 MiB, and what it takes to see how far they have come.
Subject prompt(Subject subject) {
  subject.most_ahead = (std::size_t{4} << 20) + (std::size_t{64} << 10);
  return subject;
}

MUSTER_LINK_SUITE(Shm, prompt(make_subject("shm", shm, fresh)),
                  prompt(make_subject("shm_apart", shm, fresh, Sides::apart)),
                  prompt(make_subject("shm_no_process_vm", without_process_vm, fresh,
                                      Sides::apart)));

TEST(ShmDriver, GivesMemoryOfTheArenaBeforeAnybodyIsThere) {
  const auto loop = *loop::Loop::make();
  const loop::Turn turn(*loop);
  const auto driver = shm(*loop);
  const Result<WritableBuffer> memory = driver->allocate(1 << 20);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->size(), 1U << 20);
  EXPECT_NE(memory->owner()->origin(), nullptr) << "peers can read it where it lies";
}

// Mappings of segments in this process, its own and its peers'.
std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:muster (deleted)") != std::string::npos) ++count;
  }
  return count;
}

class ShmSegments : public DriverSuite {};

TEST_P(ShmSegments, ThatAreGoneAreUnmappedByThePeerToo) {
  Host& host = listen();
  auto [near, far] = connect(host);
  for (int i = 0; i < 20; ++i) {
    // Each is larger than the one before, and thus in a segment of its own.
    const std::size_t size = (std::size_t{128} << 10) + (static_cast<std::size_t>(i) << 18);
    wire::Frame frame;
    frame.head.resize(8);
    {
      const loop::Turn turn(near.loop());
      frame.parts.push_back(std::move(*near.connection->allocate(size)).freeze());
    }
    const arena::SharedBlock* block = arena::SharedBlock::of(frame.parts[0]);
    const std::weak_ptr<arena::Segment> segment = block->segment();
    ASSERT_TRUE(near.send(frame));
    ASSERT_TRUE(run_until([&end = far] { return end.has_frames(); }));
    far.take_frames().clear();
    ASSERT_TRUE(run_until([&] { return segment.expired(); })) << "nobody uses it any more";
  }
  EXPECT_LT(mapped_segments(), 10U) << "not one for each body that ever came";
}

TEST_P(ShmSegments, ThatAreGoneAreUnmappedThoughNoOtherFollows) {
  Host& host = listen();
  auto [near, far] = connect(host);
  const std::size_t before = mapped_segments();
  wire::Frame frame;
  frame.head.resize(8);
  {
    const loop::Turn turn(near.loop());
    frame.parts.push_back(std::move(*near.connection->allocate(std::size_t{1} << 20)).freeze());
  }
  ASSERT_TRUE(near.send(frame));
  ASSERT_TRUE(run_until([&end = far] { return end.has_frames(); }));
  EXPECT_GT(mapped_segments(), before);

  far.take_frames().clear();

  EXPECT_TRUE(run_until([&] { return mapped_segments() <= before; }));
}

TEST_P(ShmSegments, AreGivenBackThoughTheRingWasFullWhenBodiesWereLetGo) {
  Host& host = listen();
  auto [near, far] = connect(host);
  std::vector<std::weak_ptr<arena::Segment>> segments;
  for (const std::size_t size : {std::size_t{128} << 10, std::size_t{512} << 10}) {
    wire::Frame frame;
    frame.head.resize(8);
    {
      const loop::Turn turn(far.loop());
      frame.parts.push_back(std::move(*far.connection->allocate(size)).freeze());
    }
    segments.push_back(arena::SharedBlock::of(frame.parts[0])->segment());
    ASSERT_TRUE(far.send(frame));
  }
  ASSERT_TRUE(run_until([&end = near] { return end.frame_count() == 2; }));
  std::vector<wire::Frame> bodies = near.take_frames();
  rig->set_far_reading(false);
  {
    const loop::Turn turn(near.loop());
    while (near.send(make_frame({32, {64}}, 0))) continue;
  }

  bodies.pop_back();  // One after the other: neither finds room.
  bodies.pop_back();
  rig->set_far_reading(true);

  for (const auto& segment : segments) {
    EXPECT_TRUE(run_until([&] { return segment.expired(); })) << "its owner has not heard";
  }
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmSegments,
                         ::testing::Values(make_subject(
                             "shm_that_keeps_nothing",
                             [](loop::Loop& loop) {
                               drivers::ShmOptions options;
                               options.arena.segment_size = std::size_t{64} << 10;
                               options.arena.idle_limit = 1;
                               return *drivers::make_shm_driver(loop, options);
                             },
                             fresh, Sides::apart)));

// The links end, but what came by them stays.
class ShmLastingBodies : public DriverSuite {
 protected:
  Buffer body(End& end, std::size_t size, std::uint64_t seed) {
    const loop::Turn turn(end.loop());
    WritableBuffer memory = *rig->near().driver.allocate(size);
    fill(memory.bytes(), seed);
    return std::move(memory).freeze();
  }
};

TEST_P(ShmLastingBodies, AreNotOverwrittenThoughTheirSenderHasEndedTheLink) {
  constexpr std::size_t kSize = std::size_t{1} << 20;
  Host& host = listen();
  auto [near, far] = connect(host);
  const std::byte* place = nullptr;
  {
    wire::Frame frame;
    frame.head.resize(8);
    frame.parts.push_back(body(near, kSize, 1));
    place = frame.parts[0].data();
    ASSERT_TRUE(near.send(frame));
  }
  ASSERT_TRUE(run_until([&end = far] { return end.has_frames(); }));
  std::vector<wire::Frame> kept = far.take_frames();
  near.close();
  ASSERT_TRUE(run_until([&to = near, &from = far] { return to.is_closed() && from.is_closed(); }));
  near.drop();
  far.drop();

  const Buffer next = body(near, kSize, 2);
  EXPECT_NE(next.data(), place);
  EXPECT_TRUE(matches(kept[0].parts[0].bytes(), 1));

  kept.clear();
  EXPECT_TRUE(run_until([&] { return body(near, kSize, 3).data() == place; }))
      << "it is free again once the receiver has let it go";
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmLastingBodies,
                         ::testing::Values(make_subject("shm", shm, fresh),
                                           make_subject("shm_apart", shm, fresh, Sides::apart)),
                         ::testing::PrintToStringParamName());

class ShmCrowd : public DriverSuite {};

// More links than are looked at without being rung, and more frames on each than
// are read at one look.
TEST_P(ShmCrowd, LeavesNothingUnread) {
  constexpr std::size_t kLinks = 24;
  constexpr std::size_t kFrames = 1000;
  Host& host = listen([](End& end) { end.take = [](wire::Frame&) {}; });
  std::vector<End*> ends;
  for (std::size_t i = 0; i < kLinks; ++i) ends.push_back(&connect(host).first);
  rig->set_far_reading(false);
  {
    const loop::Turn turn(rig->near().loop);
    for (End* end : ends) {
      for (std::size_t i = 0; i < kFrames; ++i) ASSERT_TRUE(end->send(make_frame({8, {16}}, i)));
    }
  }
  rig->set_far_reading(true);
  for (std::size_t i = 0; i < kLinks; ++i) {
    ASSERT_TRUE(run_until([&end = host.end(i)] { return end.frame_count() == kFrames; }))
        << "link " << i << " has got " << host.end(i).frame_count();
  }
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmCrowd,
                         ::testing::Values(make_subject("shm_apart", shm, fresh, Sides::apart)),
                         ::testing::PrintToStringParamName());

// What a sender says in quick succession is gathered before it goes into the ring.
class ShmGathering : public DriverSuite {};

// Small ones, now and then one that goes by the ring alone, and one by reference.
Shape burst_shape(std::size_t index) {
  if (index % 50 == 20) return {8, {net::kReferenceFrom + 1}};
  if (index % 50 == 40) return {8, {std::size_t{40} << 10}};
  return {32, {index % 100}};
}

TEST_P(ShmGathering, NothingOvertakesWhatIsHeldBack) {
  constexpr std::size_t kFrames = 2000;
  Host& host = listen([](End& end) { expect_frames(end, burst_shape, 0); });
  auto [near, far] = connect(host);
  Stream stream(near, kFrames, frames_of(burst_shape, 0));
  stream.start();
  EXPECT_TRUE(run_until([&end = far] { return end.frame_count() == kFrames; }));
}

TEST_P(ShmGathering, WhatFoundTheRingFullGoesOnceThereIsRoom) {
  use_rig(Sides::apart);
  const ShapeOf small = [](std::size_t) { return Shape{32, {64}}; };
  Host& host = listen([&](End& end) { expect_frames(end, small, 0); });
  auto [near, far] = connect(host);
  rig->set_far_reading(false);
  std::size_t sent = 0;
  {
    const loop::Turn turn(near.loop());
    while (near.send(make_frame({32, {64}}, sent))) ++sent;
  }
  EXPECT_GT(sent, 1000U);
  rig->set_far_reading(true);
  // Though nobody sends any more.
  EXPECT_TRUE(run_until([&end = far, sent] { return end.frame_count() == sent; }))
      << far.frame_count() << " of " << sent;
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmGathering,
                         ::testing::Values(make_subject("shm", shm, fresh),
                                           make_subject("shm_apart", shm, fresh, Sides::apart)),
                         ::testing::PrintToStringParamName());

// Parts that lie in the arena, but are too small to be referred to: copied as any others.
class ShmSmallParts : public LinkSuite {};

TEST_P(ShmSmallParts, OfTheArenaArriveHoweverManyThereAreInAMessage) {
  Party far(rig->far());
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address()));
  constexpr std::size_t kParts = 60;
  constexpr std::size_t kSize = net::kReferenceFrom - 48;
  wire::Frame frame;
  frame.head.resize(net::kLinkHead);
  {
    const loop::Turn turn(near.loop());
    WritableBuffer memory = *rig->near().driver.allocate(kParts * kSize);
    fill(memory.bytes(), 5);
    const Buffer whole = std::move(memory).freeze();
    for (std::size_t i = 0; i < kParts; ++i) frame.parts.push_back(whole.slice(i * kSize, kSize));
  }

  ASSERT_TRUE(end.send(frame));

  ASSERT_TRUE(run_until([&] { return far.count() == 1 && far.end().message_count() == 1; }));
  EXPECT_EQ(far.end().take_messages().at(0).parts.size(), kParts);
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmSmallParts,
                         ::testing::Values(make_subject("shm", shm, fresh, Sides::apart),
                                           make_subject("shm_no_process_vm", without_process_vm,
                                                        fresh, Sides::apart)),
                         ::testing::PrintToStringParamName());

class ShmDescriptors : public DriverSuite {
 protected:
  // Of both ends, which are one process here.
  static std::size_t open_ones() { return look_at_holdings().descriptors.size(); }
  // A link by which something has come and gone.
  std::pair<End&, End&> stand(Host& host) {
    auto [near, far] = connect(host);
    EXPECT_TRUE(near.send(make_frame({8, {100}}, 1)));
    EXPECT_TRUE(run_until([&end = far] { return end.frame_count() == 1; }));
    EXPECT_TRUE(far.send(make_frame({8, {100}}, 1)));
    EXPECT_TRUE(run_until([&end = near] { return end.frame_count() == 1; }));
    return {near, far};
  }
};

TEST_P(ShmDescriptors, AreTwoForEachEndOfALinkThatStands) {
  constexpr std::size_t kLinks = 20;
  Host& host = listen();
  stand(host);  // What all links share is there.
  const std::size_t before = open_ones();

  for (std::size_t i = 0; i < kLinks; ++i) stand(host);

  EXPECT_EQ(open_ones(), before + kLinks * 2 * 2);
}

TEST_P(ShmDescriptors, AreOneForEachSegmentOfThePeers) {
  Host& host = listen();
  auto [near, far] = stand(host);
  std::vector<Buffer> bodies;
  for (std::size_t i = 0; i < 3; ++i) {
    const loop::Turn turn(near.loop());
    bodies.push_back(std::move(*near.connection->allocate(std::size_t{1} << 20)).freeze());
  }
  const std::size_t before = open_ones();

  for (std::size_t i = 0; i < bodies.size(); ++i) {
    wire::Frame frame;
    frame.head.resize(8);
    frame.parts.push_back(bodies[i]);
    ASSERT_TRUE(near.send(frame));
    ASSERT_TRUE(run_until([&end = far, i] { return end.frame_count() == 2 + i; }));
  }

  EXPECT_EQ(open_ones(), before + 1) << "all of them lie in one segment";
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmDescriptors,
                         ::testing::Values(make_subject("shm_apart", shm, fresh, Sides::apart)),
                         ::testing::PrintToStringParamName());

class ShmManySegments : public DriverSuite {};

// More than the socket has room for that they are announced on.
TEST_P(ShmManySegments, AreAnnouncedOneAfterTheOtherAndNothingIsCopied) {
  constexpr std::size_t kCount = 350;
  constexpr std::size_t kSize = std::size_t{100} << 10;
  std::size_t arrived = 0;
  std::size_t good = 0;
  Host& host = listen([&](End& end) {
    end.take = [&](wire::Frame& frame) {
      good += matches(frame.parts[0].bytes(), arrived) ? 1 : 0;
      ++arrived;
    };
  });
  auto [near, far] = connect(host);
  Stream stream(near, kCount, [&](std::size_t index) {
    WritableBuffer memory = *rig->near().driver.allocate(kSize);
    fill(memory.bytes(), index);
    wire::Frame frame;
    frame.head.resize(8);
    frame.parts.push_back(std::move(memory).freeze());
    return frame;
  });
  {
    // Nobody reads meanwhile.
    const loop::Turn turn(near.loop());
    stream.start();
  }
  ASSERT_TRUE(run_until([&] { return far.frame_count() == kCount; }));
  EXPECT_EQ(good, kCount);
  EXPECT_EQ(far.place_count(), 0U) << "all of them went by reference";
  EXPECT_GT(stream.overloads(), 0) << "the test wants the socket to be full";
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmManySegments,
                         ::testing::Values(make_subject(
                             "shm_of_small_segments",
                             [](loop::Loop& loop) {
                               drivers::ShmOptions options;
                               options.arena.segment_size = std::size_t{128} << 10;
                               return *drivers::make_shm_driver(loop, options);
                             },
                             fresh)));

}  // namespace
}  // namespace muster::net::testing
