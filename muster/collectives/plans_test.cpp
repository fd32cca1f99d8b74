#include "muster/collectives/plans.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/collectives/testing/plan_case.h"

namespace muster::collectives {
namespace {

using testing::equal_case;
using testing::PlanCase;

bool is_rooted(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::scatter ||
         operation == Operation::gather || operation == Operation::reduce;
}

bool reduces(Operation operation) {
  return operation == Operation::reduce || operation == Operation::all_reduce ||
         operation == Operation::reduce_scatter;
}

// Every method for every operation.
std::vector<PlanCase> all_methods(Rank ranks, std::uint64_t count) {
  std::vector<PlanCase> cases;
  for (const Operation operation : kOperations) {
    for (const Algorithm algorithm : kAlgorithms) {
      const PlanCase one = equal_case(operation, algorithm, ranks, count);
      if (one.is_possible()) cases.push_back(one);
    }
  }
  return cases;
}

void expect_right(const PlanCase& one) {
  if (!one.is_possible()) return;
  const auto wrong = one.run();
  EXPECT_FALSE(wrong) << wrong.value_or("");
}

TEST(Plans, AreRightForEveryOperationAndMethodFromOneTo33Ranks) {
  for (Rank ranks = 1; ranks <= 33; ++ranks) {
    for (PlanCase one : all_methods(ranks, 3)) {
      one.method.grain = 1;
      one.root = is_rooted(one.operation) ? ranks / 2 : 0;
      one.seed = ranks;
      expect_right(one);
    }
  }
}

TEST(Plans, AreRightForEveryRoot) {
  for (Rank ranks = 1; ranks <= 9; ++ranks) {
    for (PlanCase one : all_methods(ranks, 5)) {
      if (!is_rooted(one.operation)) continue;
      for (one.root = 0; one.root < ranks; ++one.root) {
        for (const bool in_order : {false, true}) {
          if (in_order && !reduces(one.operation)) continue;
          one.is_commutative = !in_order;
          expect_right(one);
        }
      }
    }
  }
}

TEST(Plans, AreRightForEveryCountAndSegment) {
  for (const Rank ranks : {1U, 2U, 3U, 4U, 7U, 8U}) {
    for (const std::uint64_t count : {0U, 1U, 2U, 7U, 16U, 33U}) {
      for (PlanCase one : all_methods(ranks, count)) {
        for (const std::uint64_t segment : {0U, 1U, 3U, 16U, 100U}) {
          one.method.segment = segment;
          one.method.grain = segment % 2 == 0 ? 4 : 1;
          one.has_finish = reduces(one.operation);
          expect_right(one);
        }
      }
    }
  }
}

TEST(Plans, KeepTheOrderOfTheRanksForWhatIsNotCommutative) {
  std::set<Algorithm> kept;
  for (Rank ranks = 1; ranks <= 17; ++ranks) {
    for (PlanCase one : all_methods(ranks, 6)) {
      if (!reduces(one.operation)) continue;
      one.is_commutative = false;
      one.method.grain = 1;
      one.method.segment = ranks % 3;
      one.root = is_rooted(one.operation) ? ranks - 1 : 0;
      if (one.is_possible()) kept.insert(one.method.algorithm);
      expect_right(one);
    }
  }
  EXPECT_TRUE(kept.contains(Algorithm::rabenseifner));
  EXPECT_FALSE(kept.contains(Algorithm::ring));
}

// More segments than all members on the way have cells for.
TEST(Plans, OfLongPipelinesInTheOrderOfTheRanksHaveNobodyWaitForEver) {
  for (Rank ranks = 2; ranks <= 6; ++ranks) {
    PlanCase one = equal_case(Operation::reduce, Algorithm::chain, ranks, 150);
    one.is_commutative = false;
    one.has_finish = true;
    one.method.segment = 1;
    for (one.root = 0; one.root < ranks; ++one.root) {
      for (const bool same : {false, true}) {
        one.same_memory = same;
        expect_right(one);
      }
    }
  }
}

TEST(Plans, AreRightWhereInputAndResultAreTheSameMemory) {
  for (Rank ranks = 1; ranks <= 9; ++ranks) {
    for (PlanCase one : all_methods(ranks, 5)) {
      one.same_memory = true;
      one.method.grain = 1;
      for (const std::uint64_t segment : {0U, 2U}) {
        one.method.segment = segment;
        one.root = is_rooted(one.operation) ? ranks / 3 : 0;
        expect_right(one);
      }
    }
  }
}

TEST(Plans, OfHierarchiesAreRightForHostsOfAnySize) {
  const std::vector<Hosts> layouts{{0},          {0, 0},       {0, 1},          {0, 0, 1},
                                   {0, 1, 0},    {1, 0, 0},    {0, 1, 2},       {0, 0, 1, 1},
                                   {0, 1, 0, 1}, {5, 5, 5, 2}, {0, 1, 2, 1, 0}, {3, 3, 3, 3, 3, 3}};
  for (const Hosts& hosts : layouts) {
    const auto ranks = static_cast<Rank>(hosts.size());
    for (const Operation operation : kOperations) {
      for (Rank root = 0; root < (is_rooted(operation) ? ranks : 1); ++root) {
        for (const std::uint64_t segment : {0U, 2U, 5U}) {
          PlanCase one = equal_case(operation, Algorithm::hierarchical, ranks, 7);
          one.hosts = hosts;
          one.root = root;
          one.method.segment = segment;
          one.method.grain = 1;
          one.has_finish = reduces(operation);
          expect_right(one);
        }
      }
    }
  }
}

TEST(Plans, ForOneHostAreNotMadeForSeveral) {
  PlanCase one = equal_case(Operation::all_reduce, Algorithm::direct, 4, 8);
  EXPECT_TRUE(one.is_possible());
  one.hosts = {0, 0, 1, 1};
  EXPECT_FALSE(one.is_possible());
  one.method.algorithm = Algorithm::hierarchical;
  EXPECT_TRUE(one.is_possible());
}

TEST(Plans, OnOneHostWithoutExposureReadWindowsAlone) {
  for (const PlanCase& one : all_methods(4, 32)) {
    const Algorithm algorithm = one.method.algorithm;
    const bool is_direct = algorithm == Algorithm::direct && one.operation != Operation::barrier;
    EXPECT_EQ(make_plan(one.shape(1), one.method).is_exposed, is_direct) << one.describe();
  }
}

std::uint64_t up_to(std::uint64_t most) { return *rc::gen::inRange<std::uint64_t>(0, most + 1); }

RC_GTEST_PROP(PlansProperty, UnevenBlocksOverAnyHostsInAnyOrderGiveThePlainResult, ()) {
  PlanCase one;
  one.operation = kOperations[up_to(kOperations.size() - 1)];
  one.method.algorithm = kAlgorithms[up_to(kAlgorithms.size() - 1)];
  one.ranks = static_cast<Rank>(1 + up_to(one.operation == Operation::all_to_all ? 12 : 32));
  one.root = is_rooted(one.operation) ? static_cast<Rank>(up_to(one.ranks - 1)) : 0;
  one.method.segment = up_to(1) * up_to(40);
  one.method.grain = 1 + up_to(8);
  one.count = up_to(60);
  const bool is_square = one.operation == Operation::all_to_all;
  for (Rank i = 0; i < (is_square ? one.ranks * one.ranks : one.ranks); ++i) {
    one.counts.push_back(up_to(1) * up_to(12));
  }
  if (one.method.algorithm == Algorithm::hierarchical || up_to(3) == 0) {
    for (Rank i = 0; i < one.ranks; ++i) {
      one.hosts.push_back(static_cast<std::uint32_t>(up_to(4)));
    }
  }
  one.is_commutative = up_to(1) == 0;
  one.has_finish = reduces(one.operation) && up_to(1) == 0;
  one.same_memory = up_to(1) == 0;
  one.seed = up_to(1'000'000);
  RC_PRE(one.is_possible());
  const auto wrong = one.run();
  if (wrong) RC_FAIL(*wrong);
}

TEST(PlanMachine, FindsAStepThatIsNotKeptApart) {
  // Rank 1 reads what rank 0 has not published.
  PlanCase one = equal_case(Operation::broadcast, Algorithm::direct, 2, 4);
  std::vector<Plan> plans{make_plan(one.shape(0), one.method), make_plan(one.shape(1), one.method)};
  std::erase_if(plans[0].steps, [](const Step& s) { return s.kind == Step::Kind::wait; });
  std::vector<testing::RankMemory> memory(2);
  memory[0].input = {1, 2, 3, 4};
  memory[1].result_count = 4;
  testing::PlanMachine machine(plans, memory, testing::sums(), 1);
  const auto wrong = machine.run();
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("leaves while rank 1 may be reading"), std::string::npos) << *wrong;
}

TEST(PlanMachine, FindsWhoWaitsForEver) {
  PlanCase one = equal_case(Operation::barrier, Algorithm::direct, 3, 0);
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < 3; ++rank) plans.push_back(make_plan(one.shape(rank), one.method));
  plans[2].steps.clear();
  testing::PlanMachine machine(plans, std::vector<testing::RankMemory>(3), testing::sums(), 1);
  EXPECT_TRUE(machine.run());
}

}  // namespace
}  // namespace muster::collectives
