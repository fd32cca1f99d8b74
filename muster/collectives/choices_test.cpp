#include "muster/collectives/choices.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/collectives/desk.h"

namespace muster::collectives {
namespace {

constexpr std::uint64_t kMega = 1 << 20;
constexpr std::array kMakers{ProcessorMaker::intel, ProcessorMaker::other};

Choice row(Rank ranks, std::uint64_t bytes, Algorithm algorithm, std::uint64_t segment = 0) {
  return {Ground::links, Operation::all_reduce, ranks, bytes, algorithm, segment};
}

Algorithm chosen(const ChoiceTable& table, Rank ranks, std::uint64_t count) {
  const Shape shape = Shape::equal(Operation::all_reduce, ranks, 0, count);
  return table.choose(shape, 4, Ground::links).algorithm;
}

TEST(ChoiceTable, TakesTheRowOfTheMostRanksThatFitAndThenOfTheFewestBytes) {
  const auto table =
      ChoiceTable::make({row(2, 100, Algorithm::doubling), row(2, kMega, Algorithm::rabenseifner),
                         row(2, ~0ULL, Algorithm::ring), row(8, 400, Algorithm::rabenseifner),
                         row(8, ~0ULL, Algorithm::ring)});
  ASSERT_TRUE(table);
  EXPECT_EQ(chosen(*table, 2, 25), Algorithm::doubling);
  EXPECT_EQ(chosen(*table, 2, 26), Algorithm::rabenseifner);
  EXPECT_EQ(chosen(*table, 7, kMega), Algorithm::ring);
  EXPECT_EQ(chosen(*table, 8, 25), Algorithm::rabenseifner);
  EXPECT_EQ(chosen(*table, 9, 101), Algorithm::ring);
}

TEST(ChoiceTable, TakesAnotherWhereTheRowsCannotBe) {
  const auto table = ChoiceTable::make({row(2, ~0ULL, Algorithm::ring)});
  Shape shape = Shape::equal(Operation::all_reduce, 4, 0, 100);
  shape.is_commutative = false;
  EXPECT_EQ(table->choose(shape, 4, Ground::links).algorithm, Algorithm::rabenseifner);
}

TEST(ChoiceTable, RefusesARowThatCannotBe) {
  EXPECT_FALSE(ChoiceTable::make({row(2, 1, Algorithm::chain)}));
  EXPECT_FALSE(ChoiceTable::make({row(2, 1, Algorithm::direct)}));
}

TEST(ChoiceTable, KeepsSegmentsWithinTheWindowsAndFewEnough) {
  const Shape shape = Shape::equal(Operation::all_reduce, 4, 0, 64 * kMega);
  const Shape huge = Shape::equal(Operation::all_reduce, 4, 0, 4096 * kMega);
  for (const ProcessorMaker maker : kMakers) {
    const ChoiceTable& table = ChoiceTable::standard(maker);
    const Method method = table.choose(shape, 4, Ground::windows, {}, 64 << 10);
    EXPECT_EQ(method.algorithm, Algorithm::staged);
    EXPECT_LE(make_plan(shape, method).window * 4, 64U << 10);
    EXPECT_LT(4096 * kMega / table.choose(huge, 8, Ground::links).segment, 20000U);
  }
}

// Ranks of several hosts may have different processors, and must choose alike.
TEST(ChoiceTable, IsTheSameBetweenHostsOnAllProcessors) {
  const auto between_hosts = [](ProcessorMaker maker) {
    std::vector<Choice> found;
    for (const Choice& row : ChoiceTable::standard(maker).rows()) {
      if (row.ground == Ground::links || row.ground == Ground::hosts) found.push_back(row);
    }
    return found;
  };
  ASSERT_FALSE(between_hosts(ProcessorMaker::other).empty());
  EXPECT_EQ(between_hosts(ProcessorMaker::intel), between_hosts(ProcessorMaker::other));
}

// A table of some processors has rows of its own for some operations, and those of all for the
// others.
TEST(ChoiceTable, HasARowForEachGroundAndOperationOnAllProcessors) {
  for (const ProcessorMaker maker : kMakers) {
    for (const Ground ground : kGrounds) {
      for (const Operation operation : kOperations) {
        EXPECT_TRUE(std::ranges::any_of(
            ChoiceTable::standard(maker).rows(),
            [&](const Choice& row) { return row.ground == ground && row.operation == operation; }))
            << name(ground) << " " << name(operation);
      }
    }
  }
}

// One rank has all, many others nothing: as many rounds as for its block, in small pieces.
TEST(ChoiceTable, KeepsThePhasesOfUnevenBlocksFewEnough) {
  constexpr Rank kRanks = 64;
  std::vector<std::uint64_t> counts(kRanks);
  counts[3] = 4096 * kMega;
  for (const Operation operation :
       {Operation::scatter, Operation::gather, Operation::all_gather, Operation::reduce_scatter}) {
    Shape shape = Shape::equal(operation, kRanks, 0, 0);
    shape.blocks = Blocks::uneven(counts);
    for (const ProcessorMaker maker : kMakers) {
      const Method method = ChoiceTable::standard(maker).choose(shape, 1, Ground::windows);
      ASSERT_EQ(method.algorithm, Algorithm::staged);
      EXPECT_LT(counts[3] / (method.segment / kRanks), kLastPhase / 3) << name(operation);
    }
  }
}

void expect_plans_within(std::uint64_t window, const Shape& shape, Ground ground) {
  for (const ProcessorMaker maker : kMakers) {
    for (const std::size_t size : {1U, 8U}) {
      const Method method = ChoiceTable::standard(maker).choose(shape, size, ground, {}, window);
      EXPECT_LE(make_plan(shape, method).window * size, window)
          << name(shape.operation) << " " << name(ground) << " " << shape.ranks << " "
          << shape.count;
    }
  }
}

TEST(ChoiceTable, KeepsAllPlansWithinTheWindow) {
  for (const Operation operation : kOperations) {
    for (const Ground ground : {Ground::arena, Ground::readable, Ground::windows}) {
      for (const Rank ranks : {2U, 7U, 33U}) {
        for (const std::uint64_t count : {std::uint64_t{1000}, kMega}) {
          expect_plans_within(4 * kMega, Shape::equal(operation, ranks, 1, count), ground);
        }
      }
    }
  }
}

RC_GTEST_PROP(ChoiceTable, HasAPlanForEverything, ()) {
  Shape shape;
  shape.operation = *rc::gen::elementOf(std::vector(kOperations.begin(), kOperations.end()));
  shape.ranks = *rc::gen::inRange<Rank>(1, 40);
  shape.count = *rc::gen::inRange<std::uint64_t>(0, 100'000);
  shape.is_commutative = *rc::gen::arbitrary<bool>();
  const Ground ground = *rc::gen::elementOf(std::vector(kGrounds.begin(), kGrounds.end()));
  shape.blocks = Blocks::equal(shape.ranks, shape.count);
  shape.receives = shape.blocks;
  shape.is_even = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) shape.peer_offsets.resize(shape.ranks);
  Hosts hosts;
  for (Rank rank = 0; ground == Ground::hosts && rank < shape.ranks; ++rank) {
    hosts.push_back(rank % 3);
  }
  const ProcessorMaker maker = *rc::gen::elementOf(std::vector(kMakers.begin(), kMakers.end()));
  const Method method = ChoiceTable::standard(maker).choose(shape, 4, ground, hosts);
  RC_ASSERT(is_possible(shape, method.algorithm, hosts));
  RC_ASSERT(is_possible_on(ground, method.algorithm) || shape.operation == Operation::barrier);
}

}  // namespace
}  // namespace muster::collectives
