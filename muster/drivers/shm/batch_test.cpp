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

// Reads a record that has whatever small shape.
::testing::AssertionResult holds(std::span<const std::byte> record, const Shape& shape,
                                 std::uint64_t seed) {
  wire::Frame frame;
  std::vector<PartPlan> plans;
  const auto at = read_frame_record(record, frame.head, plans);
  if (!at) return ::testing::AssertionFailure() << at.error().describe();
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
      Shape shape{random() % 129, {}};
      for (std::size_t part = random() % (kSmallParts + 1); part > 0; --part) {
        shape.parts.push_back(random() % 300);
      }
      wire::Frame frame = make_frame(shape, shapes.size());
      const std::size_t size = small_record_size(frame);
      ASSERT_GT(size, 0U);
      if (!batch.fits(size)) break;
      batch.add(frame, size);
      EXPECT_TRUE(frame.parts.empty()) << "they are the batch's";
      shapes.push_back(shape);
    }
    EXPECT_LE(batch.bytes().size(), Batch::kCapacity);
    std::span<const std::byte> rest = batch.bytes();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      ASSERT_TRUE(holds(Batch::take(rest), shapes[i], i)) << i;
    }
    EXPECT_TRUE(rest.empty());
    batch.clear();
    EXPECT_TRUE(batch.empty());
  }
}

TEST(Batch, TakesOneOfJustItsSizeAndNoneLarger) {
  const Batch batch;
  EXPECT_TRUE(batch.fits(Batch::kCapacity - 8));
  EXPECT_FALSE(batch.fits(Batch::kCapacity - 7));
}

TEST(Batch, OfNonsenseNothingIsTaken) {
  std::mt19937 random(2);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 100);
    std::ranges::generate(bytes, [&] { return std::byte(random() % 3 == 0 ? random() % 64 : 0); });
    std::span<const std::byte> rest = bytes;
    while (!rest.empty()) {
      const std::size_t before = rest.size();
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
