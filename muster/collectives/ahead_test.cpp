#include "muster/collectives/ahead.h"

#include <set>

#include <gtest/gtest.h>

#include "muster/collectives/testing/plan_case.h"

namespace muster::collectives {
namespace {

// Places lie apart.
Ahead::Extent apart(const Slice& slice) {
  const std::uint64_t begin = static_cast<std::uint64_t>(slice.place) * 1000 + slice.offset;
  return {begin, begin + slice.count};
}

Slice result(std::uint64_t offset, std::uint64_t count = 10) {
  return {Place::result, offset, count};
}

Step make(Step::Kind kind, Slice from, Slice to, Rank peer = 1) {
  Step step;
  step.kind = kind;
  step.peer = peer;
  step.from = from;
  step.to = to;
  return step;
}
Step receive(Slice to, Rank peer = 1) { return make(Step::Kind::receive, {}, to, peer); }
Step send(Slice from) { return make(Step::Kind::send, from, {}); }

Plan plan_of(std::vector<Step> steps) {
  Plan plan;
  plan.steps = std::move(steps);
  return plan;
}

// What is found before step `now`, as the numbers of steps.
std::vector<std::size_t> found(Ahead& ahead, const Plan& plan, std::size_t now) {
  std::vector<std::size_t> steps;
  while (const auto next = ahead.next(now)) {
    steps.push_back(static_cast<std::size_t>(next->step - plan.steps.data()));
  }
  return steps;
}

using Steps = std::vector<std::size_t>;
const auto kAll = [](std::size_t) { return true; };
const auto kNone = [](std::size_t) { return false; };

TEST(Ahead, FindsAllMessagesWhosePlaceNobodyUses) {
  const Plan plan = plan_of({receive(result(0)), receive(result(10)), receive(result(20))});
  Ahead ahead(plan, 1, apart, kAll);
  EXPECT_TRUE(ahead.is_of_use());
  EXPECT_EQ(found(ahead, plan, 0), (Steps{0, 1, 2}));
  EXPECT_EQ(found(ahead, plan, 1), Steps{});  // Each once.
}

TEST(Ahead, CountsMessagesByTheirSender) {
  const Plan plan = plan_of(
      {receive(result(0, 1), 1), receive(result(10), 2), receive(result(20), 1),
       make(Step::Kind::receive_reduce, result(30), result(30), 2), receive(result(40), 2)});
  Ahead ahead(plan, 10, apart, kAll);
  EXPECT_EQ(ahead.next(0)->index, 0U);
  EXPECT_EQ(ahead.next(0)->index, 1U);  // After one that is too small to be worth it.
  EXPECT_EQ(ahead.next(0)->index, 2U);  // After one that is added up.
  EXPECT_FALSE(ahead.next(0));
}

TEST(Ahead, WaitsForStepsThatUseThePlace) {
  const Plan plan = plan_of({make(Step::Kind::receive_reduce, result(0), result(0)),
                             make(Step::Kind::copy, result(9, 1), result(100, 1)),
                             receive(result(0)), receive(result(200))});
  Ahead ahead(plan, 1, apart, kAll);
  EXPECT_EQ(found(ahead, plan, 0), Steps{});
  EXPECT_EQ(found(ahead, plan, 1), Steps{});
  EXPECT_EQ(found(ahead, plan, 2), (Steps{2, 3}));
}

TEST(Ahead, DoesNotLetTwoMessagesLandInOnePlace) {
  const Plan plan = plan_of({receive(result(0)), receive(result(5))});
  Ahead ahead(plan, 1, apart, kAll);
  EXPECT_EQ(found(ahead, plan, 0), Steps{0});
  EXPECT_EQ(found(ahead, plan, 1), Steps{1});
}

TEST(Ahead, WaitsUntilWhatIsSentHasLeft) {
  const Plan plan = plan_of({send(result(0)), receive(result(50)), receive(result(5))});
  bool is_settled = false;
  Ahead ahead(plan, 1, apart, [&](std::size_t) { return is_settled; });
  EXPECT_EQ(found(ahead, plan, 0), Steps{1});
  EXPECT_EQ(found(ahead, plan, 1), Steps{});
  EXPECT_EQ(found(ahead, plan, 2), Steps{});
  is_settled = true;
  EXPECT_EQ(found(ahead, plan, 2), Steps{2});
}

TEST(Ahead, LooksPastNoStepUpToWhichOthersReadThisRanksMemory) {
  for (const Step::Kind kind : {Step::Kind::publish, Step::Kind::wait, Step::Kind::fetch}) {
    const Plan plan = plan_of({make(kind, {}, {}), receive(result(0))});
    Ahead ahead(plan, 1, apart, kAll);
    EXPECT_EQ(found(ahead, plan, 0), Steps{});
    EXPECT_EQ(found(ahead, plan, 1), Steps{1});
  }
}

TEST(Ahead, IsOfNoUseWhereAllIsSmallOrAddedUp) {
  const Plan plan =
      plan_of({make(Step::Kind::receive_reduce, result(0), result(0)), receive(result(20, 9))});
  EXPECT_FALSE(Ahead(plan, 10, apart, kNone).is_of_use());
}

// That they land rightly is what every test of plans is about; here, that they land.
TEST(Ahead, IsOfUseToWhatGoesOverLinks) {
  std::set<Operation> landed;
  for (const Operation operation : kOperations) {
    for (const Algorithm algorithm : kAlgorithms) {
      testing::PlanCase one = testing::equal_case(operation, algorithm, 4, 32);
      one.method.segment = 4;
      if (!one.is_possible()) continue;
      std::uint64_t count = 0;
      const auto wrong = one.run(&count);
      EXPECT_FALSE(wrong) << wrong.value_or("");
      if (count > 0) landed.insert(operation);
    }
  }
  using enum Operation;
  EXPECT_EQ(landed, (std::set{broadcast, scatter, gather, all_reduce, all_gather, reduce_scatter,
                              all_to_all}));
}

}  // namespace
}  // namespace muster::collectives
