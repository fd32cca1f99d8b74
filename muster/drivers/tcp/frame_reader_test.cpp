#include "muster/drivers/tcp/frame_reader.h"

#include <array>
#include <cstring>
#include <deque>
#include <random>

#include <gtest/gtest.h>

#include "muster/drivers/tcp/testing/wire_bytes.h"
#include "muster/drivers/tcp/write_queue.h"
#include "muster/net/testing/pattern.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::tcp {
namespace {

using net::testing::is_frame;
using net::testing::make_frame;
using net::testing::Shape;
using testing::append;
using testing::on_the_wire;

constexpr std::size_t kMaxBody = 256 << 10;

struct Recorder final : net::Sink {
  std::vector<wire::Frame> frames;
  std::vector<std::size_t> placed;  // Sizes that were asked for.
  bool provides = false;
  bool lends = false;
  FrameReader* stops = nullptr;

  void on_frame(wire::Frame& frame) override {
    frames.push_back(std::move(frame));
    if (stops != nullptr) stops->stop();
  }
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t size) override {
    placed.push_back(size);
    return provides ? WritableBuffer::on_heap(size) : WritableBuffer();
  }
  bool is_lent(const wire::Head&) const override { return lends; }
  void on_room() override {}
  void on_closed(Error) override {}
};

std::vector<std::byte> on_the_wire(const std::vector<Shape>& shapes) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    append(bytes, on_the_wire(make_frame(shapes[i], i)));
  return bytes;
}

void expect_all(const std::vector<wire::Frame>& frames, const std::vector<Shape>& shapes) {
  ASSERT_EQ(frames.size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) EXPECT_TRUE(is_frame(frames[i], shapes[i], i));
}

// Feeds as a socket would: straight into the part where one is wanted, and
// some bytes beyond it.
void receive(FrameReader& reader, std::span<const std::byte> bytes, net::Sink& sink) {
  const std::span<std::byte> wanted = reader.wanted();
  const std::size_t direct = std::min(wanted.size(), bytes.size());
  if (direct > 0) {
    std::memcpy(wanted.data(), bytes.data(), direct);
    reader.put(direct, sink);
  }
  ASSERT_TRUE(reader.take(bytes.subspan(direct), sink));
}

const std::vector<Shape> kSmallFrames = {{0, {}},
                                         {24, {}},
                                         {5, {0}},
                                         {128, {1}},
                                         {7, {3, 0, 17}},
                                         {0, {0, 0}},
                                         {24, {64, 200, 0, 9, 1}}};

TEST(FrameReader, DeliversManyFramesFromOneRead) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;

  ASSERT_TRUE(reader.take(on_the_wire(kSmallFrames), sink));

  expect_all(sink.frames, kSmallFrames);
  EXPECT_FALSE(reader.is_inside());
}

void expect_whatever_the_cut(std::span<const std::byte> bytes, const std::vector<Shape>& shapes) {
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    BufferPool pool;
    FrameReader reader(pool, kMaxBody);
    Recorder sink;

    ASSERT_TRUE(reader.take(bytes.first(cut), sink));
    ASSERT_TRUE(reader.take(bytes.subspan(cut), sink));

    expect_all(sink.frames, shapes);
  }
}

TEST(FrameReader, DoesNotCareWhereTheBytesAreCut) {
  expect_whatever_the_cut(on_the_wire(kSmallFrames), kSmallFrames);
}

TEST(FrameReader, TakesOneByteAtATime) {
  const std::vector<std::byte> bytes = on_the_wire(kSmallFrames);
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;

  for (const std::byte& byte : bytes) ASSERT_TRUE(reader.take({&byte, 1}, sink));

  expect_all(sink.frames, kSmallFrames);
}

TEST(FrameReader, GivesTheSameForAnyCutsAndEitherWayOfReceiving) {
  const std::size_t large = net::kLargePart;
  const std::vector<Shape> shapes = {
      {24, {large}}, {24, {10, large + 1, 20}},      {3, {}},          {24, {large, 0, large}},
      {24, {64}},    {0, {large - 1, large * 2, 5}}, {24, {kMaxBody}}, {1, {1, 2, 3}}};
  const std::vector<std::byte> bytes = on_the_wire(shapes);
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 chance(seed);
    BufferPool pool;
    FrameReader reader(pool, kMaxBody);
    Recorder sink;
    sink.provides = seed % 2 == 0;
    const std::size_t longest = std::size_t{1} << (4 + seed % 15);

    for (std::span<const std::byte> rest = bytes; !rest.empty();) {
      const std::size_t count = std::min<std::size_t>(rest.size(), chance() % longest + 1);
      if (chance() % 4 == 0) {
        ASSERT_TRUE(reader.take(rest.first(count), sink));
      } else {
        receive(reader, rest.first(count), sink);
      }
      rest = rest.subspan(count);
    }

    expect_all(sink.frames, shapes);
    EXPECT_EQ(sink.placed.size(), 6U);
  }
}

TEST(FrameReader, WantsTheBytesOfALargePartWhereItWasPlaced) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  sink.provides = true;
  const Shape shape{8, {16, net::kLargePart}};
  const std::vector<std::byte> bytes = on_the_wire(make_frame(shape, 0));

  ASSERT_TRUE(reader.take(std::span(bytes).first(bytes.size() - net::kLargePart - 1), sink));
  EXPECT_TRUE(reader.wanted().empty());  // One byte of the small part is missing.
  EXPECT_EQ(sink.placed, std::vector<std::size_t>{net::kLargePart});
  ASSERT_TRUE(reader.take(std::span(bytes).subspan(bytes.size() - net::kLargePart - 1, 1), sink));

  const std::span<std::byte> wanted = reader.wanted();
  ASSERT_EQ(wanted.size(), net::kLargePart);
  std::memcpy(wanted.data(), bytes.data() + bytes.size() - wanted.size(), wanted.size());
  reader.put(wanted.size(), sink);
  ASSERT_EQ(sink.frames.size(), 1U);
  EXPECT_EQ(sink.frames[0].parts[1].data(), wanted.data());
}

TEST(FrameReader, ExpectsALargePartForAFewFramesAfterOne) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  const std::vector<std::byte> small = on_the_wire(make_frame({8, {16}}, 0));
  const std::vector<std::byte> bare = on_the_wire(make_frame({8, {}}, 0));
  EXPECT_FALSE(reader.expects_large());

  ASSERT_TRUE(reader.take(on_the_wire(make_frame({8, {net::kLargePart}}, 0)), sink));
  int expected = 0;
  for (; reader.expects_large() && expected < 100; ++expected) {
    ASSERT_TRUE(reader.take(expected % 2 == 0 ? small : bare, sink));
  }

  EXPECT_EQ(expected, 8);
  ASSERT_TRUE(reader.take(small, sink));
  EXPECT_FALSE(reader.expects_large());
}

TEST(FrameReader, PartsOfOneFrameAreAlignedAndShareABlock) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;

  ASSERT_TRUE(reader.take(on_the_wire(make_frame({8, {3, 5, 7}}, 0)), sink));

  const wire::Parts& parts = sink.frames.at(0).parts;
  for (const Buffer& part : parts) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data()) % 16, 0U);
    EXPECT_EQ(part.owner(), parts[0].owner());
  }
}

TEST(FrameReader, StopsWhenTheSinkSaysSo) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  sink.stops = &reader;

  ASSERT_TRUE(reader.take(on_the_wire(kSmallFrames), sink));

  EXPECT_EQ(sink.frames.size(), 1U);
}

// Frames as a queue leaves them whose sender goes on and on: those that can be are brief.
std::vector<std::byte> gathered(const std::vector<Shape>& shapes) {
  BufferPool pool;
  WriteQueue queue(pool);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    wire::Frame frame = make_frame(shapes[i], i);
    if (wire::is_small_frame(frame, WriteQueue::kCopied + 1) &&
        queue.push_beside(frame.head.bytes(), frame.parts[0].bytes())) {
      continue;
    }
    EXPECT_TRUE(queue.push(frame));
  }
  std::array<iovec, 64> runs;
  std::vector<std::byte> bytes;
  for (const iovec& run : std::span(runs).first(queue.gather(runs))) {
    append(bytes, {static_cast<const std::byte*>(run.iov_base), run.iov_len});
  }
  return bytes;
}

const std::vector<Shape> kGathered = {{32, {64}},     {32, {64}}, {32, {1}}, {40, {9}},
                                      {40, {300}},    {40, {}},   {40, {9}}, {40, {3, 4}},
                                      {40, {5}},      {7, {5}},   {7, {5}},  {128, {2}},
                                      {128, {4'000}}, {0, {5}},   {32, {8}}};

TEST(FrameReader, TakesBriefFramesWhereverTheBytesAreCut) {
  const std::vector<std::byte> bytes = gathered(kGathered);
  EXPECT_LT(bytes.size(), on_the_wire(kGathered).size());
  expect_whatever_the_cut(bytes, kGathered);
}

TEST(FrameReader, TakesBriefFramesByteByByte) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;

  for (const std::byte& byte : gathered(kGathered)) ASSERT_TRUE(reader.take({&byte, 1}, sink));

  expect_all(sink.frames, kGathered);
}

TEST(FrameReader, BriefFramesDoNotDependOnWhatTheSinkDoesToAHead) {
  struct Eater final : net::Sink {
    std::vector<std::size_t> heads;
    void on_frame(wire::Frame& frame) override {
      heads.push_back(frame.head.size());
      frame.head.resize(0);
    }
    WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t) override { return {}; }
    void on_room() override {}
    void on_closed(Error) override {}
  } sink;
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);

  ASSERT_TRUE(reader.take(gathered({{32, {64}}, {32, {64}}, {32, {64}}}), sink));

  EXPECT_EQ(sink.heads, (std::vector<std::size_t>{32, 32, 32}));
}

// The first bytes of a brief frame.
std::vector<std::byte> brief(std::uint64_t changed, std::uint64_t size) {
  std::vector<std::byte> bytes(wire::kBriefFixed);
  wire::store<std::uint64_t>(bytes.data(), wire::kBriefMagic | changed << 16 | size << 32);
  return bytes;
}

TEST(FrameReader, RefusesABriefFrameThatFitsNothing) {
  const std::vector<std::byte> before = on_the_wire(make_frame({32, {5}}, 0));
  const std::vector<std::vector<std::byte>> wrong = {
      brief(0b10000, 5), brief(0, 0), brief(0, net::kLargePart), brief(0, UINT32_MAX)};
  for (const std::vector<std::byte>& bytes : wrong) {
    BufferPool pool;
    FrameReader reader(pool, kMaxBody);
    Recorder sink;

    ASSERT_TRUE(reader.take(before, sink));
    EXPECT_EQ(reader.take(bytes, sink).error().code(), Code::invalid);

    EXPECT_EQ(sink.frames.size(), 1U);
  }
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  EXPECT_EQ(reader.take(brief(0, 5), sink).error().code(), Code::invalid) << "nothing before it";
}

TEST(FrameReader, RefusesWhatIsNoFrame) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  const std::string_view stranger = "GET / HTTP/1.1\r\n";

  EXPECT_EQ(reader.take(std::as_bytes(std::span(stranger)), sink).error().code(), Code::invalid);
  EXPECT_TRUE(sink.frames.empty());
}

// A frame that claims parts of these sizes and has none of their bytes.
std::vector<std::byte> claim(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::byte> bytes =
      on_the_wire(make_frame({0, std::vector<std::size_t>(sizes.size())}, 0));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    wire::store(bytes.data() + wire::prefix_size(i), sizes[i]);
  }
  return bytes;
}

TEST(FrameReader, RefusesABodyAboveTheLimitBeforeAnythingIsAllocated) {
  const std::vector<std::vector<std::uint64_t>> bodies = {
      {kMaxBody + 1},
      {std::uint64_t{16} << 30},
      {UINT64_MAX},
      {kMaxBody, 1},
      {UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 1},
      std::vector<std::uint64_t>(1024, kMaxBody)};
  for (const auto& body : bodies) {
    BufferPool pool;
    FrameReader reader(pool, kMaxBody);
    Recorder sink;

    EXPECT_EQ(reader.take(claim(body), sink).error().code(), Code::invalid);

    EXPECT_TRUE(sink.placed.empty());
    EXPECT_EQ(pool.idle(), 0U);
  }
}

TEST(FrameReader, TakesTheLargestBodyThatMayCome) {
  BufferPool pool;
  FrameReader reader(pool, kMaxBody);
  Recorder sink;
  const Shape shape{wire::kMaxHead,
                    std::vector<std::size_t>(wire::kMaxParts, kMaxBody / wire::kMaxParts)};

  ASSERT_TRUE(reader.take(on_the_wire(make_frame(shape, 0)), sink));

  expect_all(sink.frames, {shape});
}

TEST(FrameReader, KnowsInsideALargePartWhetherItIsLent) {
  BufferPool pool;
  Recorder sink;
  FrameReader reader(pool, kMaxBody);
  const std::vector<std::byte> small = on_the_wire({{24, {100}}});
  const std::vector<std::byte> large = on_the_wire({{24, {100'000}}});
  const auto halfway = [&](const std::vector<std::byte>& bytes) {
    EXPECT_TRUE(reader.take(std::span(bytes).first(bytes.size() / 2), sink));
    const bool is_lent = reader.is_inside_lent();
    EXPECT_TRUE(reader.take(std::span(bytes).subspan(bytes.size() / 2), sink));
    EXPECT_FALSE(reader.is_inside_lent()) << "between frames";
    return is_lent;
  };

  EXPECT_FALSE(halfway(large));
  sink.lends = true;
  EXPECT_TRUE(halfway(large));
  EXPECT_FALSE(halfway(small));
  sink.lends = false;
  EXPECT_FALSE(halfway(large));
}

}  // namespace
}  // namespace muster::drivers::tcp
