#include "muster/collectives/shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::collectives {
namespace {

RC_GTEST_PROP(Blocks, SharesCoverAllAndBeginAtGrains, ()) {
  const auto total = *rc::gen::inRange<std::uint64_t>(0, 5000);
  const auto ranks = *rc::gen::inRange<Rank>(1, 40);
  const auto grain = *rc::gen::inRange<std::uint64_t>(1, 70);
  const Blocks shares = Blocks::shares(total, ranks, grain);
  RC_ASSERT(shares.ranks() == ranks);
  RC_ASSERT(shares.total() == total);
  for (Rank i = 0; i < ranks; ++i) {
    RC_ASSERT(shares.count(i) == 0 || shares.offset(i) % grain == 0);
    RC_ASSERT(shares.count(i) <= (total / ranks / grain + 1) * grain);
  }
}

TEST(Blocks, LieOneAfterTheOther) {
  const Blocks blocks = Blocks::uneven({3, 0, 4});
  EXPECT_EQ(blocks.of(Place::result, 2), (Slice{Place::result, 3, 4}));
  EXPECT_EQ(blocks.span(Place::input, 0, 3), (Slice{Place::input, 0, 7}));
  EXPECT_EQ(blocks.span(Place::input, 1, 2), (Slice{Place::input, 3, 0}));
  EXPECT_EQ(blocks.largest(), 4U);
}

TEST(Shape, KnowsWhoHasWhichBuffer) {
  const Shape root = Shape::equal(Operation::gather, 4, 1, 10, 1);
  EXPECT_EQ(input_count(root), 10U);
  EXPECT_EQ(result_count(root), 40U);
  EXPECT_EQ(largest_buffer(root), 40U);
  const Shape other = Shape::equal(Operation::gather, 4, 2, 10, 1);
  EXPECT_EQ(result_count(other), 0U);
  EXPECT_EQ(largest_buffer(Shape::equal(Operation::all_reduce, 4, 0, 10)), 10U);
  EXPECT_EQ(largest_buffer(Shape::equal(Operation::barrier, 4, 0, 0)), 0U);
}

}  // namespace
}  // namespace muster::collectives
