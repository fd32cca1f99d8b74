#include "muster/drivers/zmq/packet.h"

#include <optional>

#include <gtest/gtest.h>

#include "muster/net/testing/pattern.h"

namespace muster::drivers::zmq {
namespace {

using net::testing::is_frame;
using net::testing::make_frame;
using net::testing::Shape;

struct Recorder final : net::Sink {
  std::vector<wire::Frame> frames;
  std::vector<std::size_t> placed;
  PacketReader* stop_after_first = nullptr;
  bool takes = false;  // Gives memory of its own.

  void on_frame(wire::Frame& frame) override {
    frames.push_back(std::move(frame));
    if (stop_after_first != nullptr) stop_after_first->stop();
  }
  WritableBuffer place(const wire::Head&, std::size_t part, std::uint64_t size) override {
    placed.push_back(part);
    return takes ? WritableBuffer::on_heap(size) : WritableBuffer();
  }
  void on_room() override {}
  void on_closed(Error) override {}
};

class Packets : public ::testing::Test {
 protected:
  // As a peer gets it: the first part of a message, and the others.
  void carry(Packet& packet) {
    message = Message::copy_of(packet.bytes);
    parts.clear();
    for (Buffer& part : packet.parts) parts.push_back(Message::wrap(std::move(part)));
  }
  Status read() { return reader.read(message.bytes(), parts, sink); }
  // What is wrong with `packet`, according to the reader.
  std::optional<Code> fault_of(Packet packet) {
    carry(packet);
    const Status taken = read();
    return taken ? std::nullopt : std::optional(taken.error().code());
  }
  static Packet packet_of(const std::vector<Shape>& shapes) {
    PacketQueue queue;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      wire::Frame frame = make_frame(shapes[i], i);
      queue.push(frame);
    }
    return std::move(queue.front());
  }

  BufferPool pool;
  PacketReader reader{pool};
  Recorder sink;
  Message message;
  std::vector<Message> parts;
};

TEST_F(Packets, SmallFramesShareAPacketAndArriveAsTheyWere) {
  const std::vector<Shape> shapes = {{8, {}}, {0, {0}}, {128, {1, 2, 3}}, {5, {kOwnPart - 1}}};
  Packet packet = packet_of(shapes);

  EXPECT_TRUE(packet.parts.empty());
  carry(packet);
  ASSERT_TRUE(read());

  ASSERT_EQ(sink.frames.size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_TRUE(is_frame(sink.frames[i], shapes[i], i)) << i;
  }
  EXPECT_EQ(reader.frames(), shapes.size());
  EXPECT_EQ(reader.body_bytes(), 6 + kOwnPart - 1);
}

TEST_F(Packets, LargePartsTravelAsTheyLieAndAreNotCopied) {
  PacketQueue queue;
  wire::Frame frame = make_frame({8, {3, kOwnPart, net::kLargePart}}, 7);
  const std::byte* const own = frame.parts[1].data();
  const std::byte* const large = frame.parts[2].data();
  queue.push(frame);

  carry(queue.front());
  ASSERT_TRUE(read());

  ASSERT_EQ(sink.frames.size(), 1U);
  EXPECT_TRUE(is_frame(sink.frames[0], {8, {3, kOwnPart, net::kLargePart}}, 7));
  EXPECT_EQ(sink.frames[0].parts[1].data(), own);
  EXPECT_EQ(sink.frames[0].parts[2].data(), large) << "the sink did not want it elsewhere";
  EXPECT_EQ(sink.placed, std::vector<std::size_t>{2});
}

TEST_F(Packets, SmallPartsLieWhereNumbersMay) {
  Packet packet = packet_of({{1, {1, 3, 5, 17}}});
  carry(packet);
  ASSERT_TRUE(read());

  for (const Buffer& part : sink.frames[0].parts) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data()) % 8, 0U);
  }
}

TEST_F(Packets, AFrameWithLargePartsIsTheLastOfItsPacket) {
  PacketQueue queue;
  for (const Shape& shape : {Shape{1, {2}}, Shape{1, {kOwnPart}}, Shape{1, {2}}}) {
    wire::Frame frame = make_frame(shape, 1);
    queue.push(frame);
  }
  EXPECT_EQ(queue.front().frames, 2U);
  queue.pop();
  EXPECT_EQ(queue.front().frames, 1U);
}

TEST_F(Packets, TheQueueKnowsItsBytesUntilTheLastHasGone) {
  PacketQueue queue;
  for (int i = 0; i < 1000; ++i) {
    wire::Frame frame = make_frame({40, {i % 7 == 0 ? kOwnPart : 100U}}, 1);
    queue.push(frame);
  }
  std::size_t sum = 0;
  const std::size_t all = queue.bytes();
  while (!queue.empty()) {
    Packet& front = queue.front();
    EXPECT_LE(front.bytes.size(), kFullPacket + 1024);
    sum += front.size;
    front.parts.clear();
    queue.pop();
  }
  EXPECT_EQ(sum, all);
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST_F(Packets, CutAnywhereThePacketIsRefusedAndNothingIsReadBeyondIt) {
  const Packet whole = packet_of({{20, {30, 5}}});
  for (std::size_t size = 2; size < whole.bytes.size(); ++size) {
    Packet cut;
    cut.bytes.assign(whole.bytes.begin(), whole.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(fault_of(std::move(cut)), Code::invalid) << size;
  }
  EXPECT_TRUE(sink.frames.empty());
}

TEST_F(Packets, PartsThatAreMissingOrTooManyOrOfAnotherSizeAreRefused) {
  const Shape shape{8, {kOwnPart, kOwnPart + 1}};
  Packet missing = packet_of({shape});
  missing.parts.pop_back();
  EXPECT_EQ(fault_of(std::move(missing)), Code::invalid);
  Packet more = packet_of({shape});
  more.parts.push_back(Buffer::copy_of("more"));
  EXPECT_EQ(fault_of(std::move(more)), Code::invalid);
  Packet swapped = packet_of({shape});
  std::swap(swapped.parts[0], swapped.parts[1]);
  EXPECT_EQ(fault_of(std::move(swapped)), Code::invalid);
}

TEST_F(Packets, ABodyAboveTheMostIsRefusedBeforeMemoryIsTaken) {
  Packet packet = packet_of({{8, {kMaxBody - 1, 2}}});
  EXPECT_EQ(fault_of(std::move(packet)), Code::invalid);
  EXPECT_TRUE(sink.placed.empty());
}

TEST_F(Packets, NothingIsDeliveredToASinkThatHasHadEnough) {
  sink.stop_after_first = &reader;
  Packet packet = packet_of({{1, {}}, {2, {}}, {3, {}}});
  carry(packet);
  EXPECT_TRUE(read());
  EXPECT_EQ(sink.frames.size(), 1U);
}

TEST_F(Packets, OnlyTheFourKindsAreKnown) {
  EXPECT_FALSE(kind_of({}));
  for (int value = 0; value < 256; ++value) {
    const std::byte first = static_cast<std::byte>(value);
    EXPECT_EQ(kind_of(std::span(&first, 1)).has_value(), value >= 1 && value <= 4) << value;
  }
  EXPECT_TRUE(is_hello(make_packet(PacketKind::hello).bytes));
  EXPECT_FALSE(is_hello(make_packet(PacketKind::goodbye).bytes));
  EXPECT_FALSE(is_hello({}));
}

}  // namespace
}  // namespace muster::drivers::zmq
