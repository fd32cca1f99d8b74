#include "muster/drivers/tcp/write_queue.h"

#include <array>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "muster/drivers/tcp/testing/wire_bytes.h"
#include "muster/net/testing/pattern.h"

namespace muster::drivers::tcp {
namespace {

using net::testing::make_frame;
using net::testing::pattern;
using net::testing::Shape;
using testing::append;
using testing::on_the_wire;

// What the queue says comes next, at most `count` bytes, seen through `runs` runs.
std::vector<std::byte> peek(const WriteQueue& queue, std::size_t count, std::size_t runs = 64) {
  std::vector<iovec> out(runs);
  std::vector<std::byte> bytes;
  const std::size_t used = queue.gather(out);
  for (std::size_t i = 0; i < used; ++i) {
    append(bytes, {static_cast<const std::byte*>(out[i].iov_base), out[i].iov_len});
  }
  bytes.resize(std::min(bytes.size(), count));
  return bytes;
}

const std::vector<Shape> kShapes = {
    {24, {64}},        {24, {}},
    {0, {0}},          {8, {WriteQueue::kCopied, WriteQueue::kCopied + 1}},
    {24, {30'000, 3}}, {5, {1, 0, 9000}},
    {128, {64}}};

TEST(WriteQueue, JoinsSmallFramesIntoOneRun) {
  BufferPool pool;
  WriteQueue queue(pool);
  std::vector<std::byte> expected;
  for (int i = 0; i < 100; ++i) {
    wire::Frame frame = make_frame({24, {64, 3}}, i);
    append(expected, on_the_wire(frame));
    ASSERT_TRUE(queue.push(frame));
    EXPECT_TRUE(frame.parts.empty());
  }

  std::array<iovec, 8> runs;
  EXPECT_EQ(queue.gather(runs), 1U);
  EXPECT_EQ(queue.bytes(), expected.size());
  EXPECT_EQ(peek(queue, SIZE_MAX), expected);
}

TEST(WriteQueue, RefersToLargePartsAndLetsThemGoWithTheirLastByte) {
  BufferPool pool;
  WriteQueue queue(pool);
  auto keeper = std::make_shared<std::vector<std::byte>>(50'000);
  wire::Frame frame;
  frame.parts.push_back(Buffer::keep(*keeper, keeper));
  ASSERT_TRUE(queue.push(frame));

  std::array<iovec, 8> runs;
  ASSERT_EQ(queue.gather(runs), 2U);
  EXPECT_EQ(runs[1].iov_base, keeper->data());
  queue.consume(queue.bytes() - 1);
  EXPECT_EQ(keeper.use_count(), 2);
  queue.consume(1);
  EXPECT_EQ(keeper.use_count(), 1);
  EXPECT_TRUE(queue.empty());
}

// Copies the frame's only part, as push() does for those that go in other ways.
bool push_alone(WriteQueue& queue, const wire::Frame& frame) {
  return queue.push_alone(frame.head.bytes(), frame.parts[0].bytes());
}

TEST(WriteQueue, KeepsASmallFrameThatIsAloneInItself) {
  BufferPool pool;
  WriteQueue queue(pool);
  const wire::Frame first = make_frame({24, {64}}, 1);
  const wire::Frame last = make_frame({24, {WriteQueue::kAlone - 40}}, 2);
  const wire::Frame too_large = make_frame({24, {WriteQueue::kAlone - 39}}, 3);

  ASSERT_TRUE(push_alone(queue, first));
  EXPECT_FALSE(push_alone(queue, last)) << "another waits";
  EXPECT_EQ(peek(queue, SIZE_MAX), on_the_wire(first));
  queue.consume(queue.bytes());
  EXPECT_FALSE(push_alone(queue, too_large));
  EXPECT_TRUE(queue.empty());
  ASSERT_TRUE(push_alone(queue, last));
  EXPECT_EQ(peek(queue, SIZE_MAX), on_the_wire(last));
  queue.clear();

  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(pool.idle(), 0U) << "no staging memory was taken";
}

TEST(WriteQueue, SendsWhatIsLeftOfAFrameThatWasAloneBeforeAllElse) {
  const wire::Frame first = make_frame({24, {64}}, 1);
  std::vector<std::byte> expected = on_the_wire(first);
  append(expected, on_the_wire(make_frame({24, {3000}}, 2)));
  for (std::size_t cut = 0; cut <= expected.size(); ++cut) {
    BufferPool pool;
    WriteQueue queue(pool);
    ASSERT_TRUE(push_alone(queue, first));
    wire::Frame second = make_frame({24, {3000}}, 2);
    ASSERT_TRUE(queue.push(second));

    queue.consume(cut);

    ASSERT_EQ(peek(queue, SIZE_MAX), std::vector(expected.begin() + cut, expected.end()));
  }
}

TEST(WriteQueue, TakesUpAnywhere) {
  std::vector<std::byte> expected;
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    append(expected, on_the_wire(make_frame(kShapes[i], i)));
  for (std::size_t cut = 0; cut <= expected.size(); cut += cut < 300 ? 1 : 211) {
    BufferPool pool;
    WriteQueue queue(pool);
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      wire::Frame frame = make_frame(kShapes[i], i);
      ASSERT_TRUE(queue.push(frame));
    }

    queue.consume(cut);

    ASSERT_EQ(queue.bytes(), expected.size() - cut);
    ASSERT_EQ(peek(queue, SIZE_MAX), std::vector(expected.begin() + cut, expected.end()));
  }
}

TEST(WriteQueue, KeepsOrderHoweverItIsFilledAndEmptied) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 chance(seed);
    BufferPool pool;
    WriteQueue queue(pool);
    std::vector<std::byte> expected;
    std::vector<std::byte> left;
    for (int step = 0; step < 400; ++step) {
      if (chance() % 2 == 0) {
        const Shape shape{chance() % 129, {chance() % 8000, chance() % 100}};
        wire::Frame frame = make_frame(shape, step);
        append(expected, on_the_wire(frame));
        ASSERT_TRUE(queue.push(frame));
      } else if (chance() % 3 == 0) {
        const wire::Frame frame = make_frame({24, {chance() % 216 + 1}}, step);
        if (push_alone(queue, frame)) append(expected, on_the_wire(frame));
      } else if (!queue.empty()) {
        const std::vector<std::byte> next = peek(queue, chance() % 10'000 + 1, chance() % 5 + 1);
        append(left, next);
        queue.consume(next.size());
      }
    }
    while (!queue.empty()) {
      const std::vector<std::byte> next = peek(queue, SIZE_MAX);
      append(left, next);
      queue.consume(next.size());
    }
    EXPECT_EQ(left, expected);
  }
}

TEST(WriteQueue, HoldsNoMemoryWhenEmpty) {
  BufferPool pool;
  WriteQueue queue(pool);
  wire::Frame frame = make_frame({24, {64}}, 0);
  ASSERT_TRUE(queue.push(frame));
  EXPECT_EQ(pool.idle(), 0U);

  queue.consume(queue.bytes());

  EXPECT_EQ(pool.idle(), WriteQueue::kBlock);
}

TEST(WriteQueue, LetsGoOfAllWhenItIsCleared) {
  BufferPool pool;
  WriteQueue queue(pool);
  auto keeper = std::make_shared<std::vector<std::byte>>(50'000);
  wire::Frame frame;
  frame.parts.push_back(Buffer::keep(*keeper, keeper));
  ASSERT_TRUE(queue.push(frame));

  queue.clear();

  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(keeper.use_count(), 1);
}

TEST(WriteQueue, WhatIsToBeLentComesAloneAndInItsTurn) {
  BufferPool pool;
  WriteQueue queue(pool);
  std::vector<std::byte> expected;
  for (int i = 0; i < 6; ++i) {
    wire::Frame frame = make_frame({24, {50'000, 64}}, i);
    append(expected, on_the_wire(frame));
    ASSERT_TRUE(queue.push(frame, i % 2 == 1));
  }

  std::vector<std::byte> left;
  int lent = 0;
  while (!queue.empty()) {
    const bool is_lent = queue.is_lent_next();
    std::array<iovec, 16> runs;
    const std::size_t count = queue.gather(runs);
    if (is_lent) {
      ASSERT_EQ(count, 1U);
      EXPECT_LE(runs[0].iov_len, 50'000U);
      lent += runs[0].iov_len == 50'000 ? 1 : 0;
    }
    // Not all of it at once.
    const std::size_t bytes = std::min<std::size_t>(30'000, runs[0].iov_len);
    append(left, {static_cast<const std::byte*>(runs[0].iov_base), bytes});
    queue.consume(bytes);
  }

  EXPECT_EQ(left, expected);
  EXPECT_EQ(lent, 3);
}

}  // namespace
}  // namespace muster::drivers::tcp
