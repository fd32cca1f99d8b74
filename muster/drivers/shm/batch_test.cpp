#include "muster/drivers/shm/batch.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/testing/pattern.h"

namespace muster::drivers::shm {
namespace {

using net::testing::is_frame;
using net::testing::make_frame;
using net::testing::Shape;

// Briefly, where that can be.
void add(Batch& batch, wire::Frame& frame) {
  if (frame.parts.size() == 1 && batch.add_brief(frame.head.bytes(), frame.parts[0].bytes())) {
    frame.parts.clear();
  } else {
    batch.add(frame, small_record_size(frame));
  }
}

// Takes a frame that has whatever small shape.
::testing::AssertionResult holds(std::span<const std::byte>& rest, wire::Head& before,
                                 const Shape& shape, std::uint64_t seed) {
  BufferPool pool;
  wire::Frame frame;
  if (Batch::take_brief(rest, pool, before, frame)) return is_frame(frame, shape, seed);
  const std::span<const std::byte> record = Batch::take(rest);
  std::vector<PartPlan> plans;
  const auto at = read_frame_record(record, frame.head, plans);
  if (!at) return ::testing::AssertionFailure() << at.error().describe();
  before.assign(record.size() < kSmallestRecord ? std::span<const std::byte>()
                                                : frame.head.bytes());
  const std::byte* from = record.data() + *at;
  for (const PartPlan& plan : plans) {
    frame.parts.push_back(Buffer::copy_of(std::span(from, plan.size)));
    from += aligned(plan.size);
  }
  return is_frame(frame, shape, seed);
}

TEST(Batch, GivesWhatItTookInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Batch batch;
    std::vector<Shape> shapes;
    for (;;) {
      Shape shape{round % 2 == 0 ? random() % 129 : 8 * (random() % 3), {}};
      for (std::size_t part = random() % (kSmallParts + 1); part > 0; --part) {
        shape.parts.push_back(random() % 300);
      }
      wire::Frame frame = make_frame(shape, shapes.size());
      const std::size_t size = small_record_size(frame);
      ASSERT_GT(size, 0U);
      if (!batch.fits(size)) break;
      add(batch, frame);
      shapes.push_back(shape);
    }
    EXPECT_LE(batch.bytes().size(), Batch::kCapacity);
    std::span<const std::byte> rest = batch.bytes();
    wire::Head before;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      ASSERT_TRUE(holds(rest, before, shapes[i], i)) << i;
    }
    EXPECT_TRUE(rest.empty());
    batch.clear();
    EXPECT_TRUE(batch.empty());
  }
}

TEST(Batch, HasNothingButThePartOfAFrameThatIsLikeTheOneBefore) {
  Batch batch;
  std::size_t before = 0;
  for (int i = 0; i < 3; ++i) {
    wire::Frame frame = make_frame({32, {64}}, 0);
    before = batch.bytes().size();
    add(batch, frame);
  }
  EXPECT_EQ(batch.bytes().size() - before, wire::kBriefFixed + 64);
}

TEST(Batch, BeginsWithAWholeFrame) {
  Batch batch;
  for (int i = 0; i < 2; ++i) {
    wire::Frame frame = make_frame({32, {64}}, 0);
    add(batch, frame);
    if (i == 0) batch.clear();
  }
  EXPECT_FALSE(wire::is_brief(wire::load<std::uint64_t>(batch.bytes().data())));
}

TEST(Batch, TakesOneOfJustItsSizeAndNoneLarger) {
  Batch batch;
  EXPECT_TRUE(batch.fits(Batch::kCapacity - 8));
  EXPECT_FALSE(batch.fits(Batch::kCapacity - 7));
}

TEST(Batch, OfNonsenseNothingIsTaken) {
  std::mt19937 random(2);
  BufferPool pool;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 100);
    std::ranges::generate(bytes, [&] { return std::byte(random() % 3 == 0 ? random() % 64 : 0); });
    if (bytes.size() > 8 && round % 2 == 0) {
      wire::store(bytes.data(), wire::kBriefMagic);
    }
    std::span<const std::byte> rest = bytes;
    wire::Head head(std::vector(32, std::byte{1}));
    while (!rest.empty()) {
      const std::size_t before = rest.size();
      wire::Frame frame;
      if (Batch::take_brief(rest, pool, head, frame)) {
        ASSERT_LT(rest.size(), before);
        continue;
      }
      const std::span<const std::byte> record = Batch::take(rest);
      if (rest.size() == before) break;  // Nonsense.
      ASSERT_LT(rest.size(), before);
      ASSERT_GE(record.data(), bytes.data());
      ASSERT_LE(record.data() + record.size(), bytes.data() + bytes.size());
    }
  }
}

}  // namespace
}  // namespace muster::drivers::shm
