#include "muster/collectives/plan_shelf.h"

#include <gtest/gtest.h>

namespace muster::collectives::internal {
namespace {

constexpr PlanShelf::Setting kHere{.context = 7, .ground = Ground::links, .size = 4};

Shape sum_of(std::uint64_t count) { return Shape::equal(Operation::all_reduce, 4, 1, count); }

// True if a plan had to be made.
bool makes(PlanShelf& shelf, const Shape& shape, std::size_t steps = 1,
           const PlanShelf::Setting& setting = kHere) {
  bool has_made = false;
  const Plan& found = shelf.find(setting, shape, [&] {
    has_made = true;
    Plan plan;
    plan.steps.resize(steps);
    plan.scratch = shape.count;
    return plan;
  });
  EXPECT_EQ(found.scratch, shape.count);
  return has_made;
}

TEST(PlanShelf, KeepsThePlansOfOperationsThatTakeTurns) {
  PlanShelf shelf;
  for (std::uint64_t count = 1; count <= 4; ++count) EXPECT_TRUE(makes(shelf, sum_of(count)));
  for (std::uint64_t count = 1; count <= 4; ++count) EXPECT_FALSE(makes(shelf, sum_of(count)));
}

TEST(PlanShelf, TakesNoPlanForAnother) {
  PlanShelf shelf;
  makes(shelf, sum_of(5));
  EXPECT_TRUE(makes(shelf, sum_of(5), 1, {8, Ground::links, 4})) << "other ranks";
  EXPECT_TRUE(makes(shelf, sum_of(5), 1, {7, Ground::arena, 4}));
  EXPECT_TRUE(makes(shelf, sum_of(5), 1, {7, Ground::links, 8}));
  Shape in_order = sum_of(5);
  in_order.is_commutative = false;
  EXPECT_TRUE(makes(shelf, in_order));
}

TEST(PlanShelf, KeepsNoLongPlan) {
  PlanShelf shelf;
  EXPECT_TRUE(makes(shelf, sum_of(1), 100000));
  EXPECT_TRUE(makes(shelf, sum_of(1)));
  EXPECT_FALSE(makes(shelf, sum_of(1)));
}

}  // namespace
}  // namespace muster::collectives::internal
