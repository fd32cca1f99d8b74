// Every operation, type, reduction and form against a naive oracle, over each way.
//
// In each run all pairs of choices meet; all of all, in long/matrix_test.cpp.

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/collectives/choices.h"
#include "tests/collectives/pairs.h"

namespace muster::tests {
namespace {

struct Setting {
  Way way;
  Rank ranks;
};

class EachOperation : public ::testing::TestWithParam<Setting> {};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Way way : kWays) {
    for (Rank ranks = 1; ranks <= kMostRanks; ++ranks) all.push_back({way, ranks});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(EachWay, EachOperation, ::testing::ValuesIn(settings()),
                         [](const auto& one) {
                           return name(one.param.way) + std::to_string(one.param.ranks);
                         });

void expect_pairs_right(LocalRanks& ranks, Way way) {
  ranks.run([&](Rank, Communicator& all) {
    for (const Case& one : paired_cases(way, ranks.size())) {
      const Checked checked = run(one, all);
      ASSERT_TRUE(checked.outcome) << text_of(one) << ": " << checked.outcome.error().describe();
      ASSERT_EQ(checked.wrong, "");
    }
    ASSERT_TRUE(all.barrier());
  });
}

TEST_P(EachOperation, GivesWhatAPlainLoopGives) {
  LocalRanks ranks(GetParam().way, GetParam().ranks);
  expect_pairs_right(ranks, GetParam().way);
}

class LargeOperations : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(EachWay, LargeOperations, ::testing::ValuesIn(kWays),
                         [](const auto& one) { return name(one.param); });

// Beyond the windows, the segments, the bytes that may be under way, and the last row of each
// table of choices.
void expect_large_ones_right(LocalRanks& ranks) {
  constexpr std::uint64_t kNumbers = (std::uint64_t{8} << 20) / sizeof(float) + 3;
  ranks.run([&](Rank, Communicator& all) {
    for (const Operation operation : kOperations) {
      const bool has_blocks = operation != Operation::broadcast && operation != Operation::reduce &&
                              operation != Operation::all_reduce;
      Case one;
      one.operation = operation;
      one.root = 1;
      one.is_in_arena = operation == Operation::reduce || operation == Operation::all_gather;
      set_counts(one, ranks.size(), has_blocks ? kNumbers / ranks.size() : kNumbers);
      const Checked checked = run(one, all);
      ASSERT_TRUE(checked.outcome) << text_of(one) << ": " << checked.outcome.error().describe();
      ASSERT_EQ(checked.wrong, "");
    }
    ASSERT_TRUE(all.barrier());
  });
}

TEST_P(LargeOperations, GiveWhatAPlainLoopGives) {
  LocalRanks ranks(GetParam(), 3);
  expect_large_ones_right(ranks);
}

// What this machine's processors would not choose is right as well.
class AllProcessors : public ::testing::TestWithParam<Rank> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AllProcessors, ::testing::Values(2, 4));

TEST_P(AllProcessors, ChooseWhatGivesWhatAPlainLoopGives) {
  for (const ProcessorMaker maker : {ProcessorMaker::intel, ProcessorMaker::other}) {
    LocalRanks ranks(Way::shm, GetParam(), [&](CommunicatorOptions& options) {
      options.choices = &ChoiceTable::standard(maker);
    });
    expect_large_ones_right(ranks);
    expect_pairs_right(ranks, Way::shm);
  }
}

// The inner one adds up on the thread that is in the middle of the outer one.
TEST(Operations, MayBeCalledOfAnotherCommunicatorByAUsersFunction) {
  LocalRanks ranks(Way::shm, 3);
  ranks.run([](Rank rank, Communicator& all) {
    auto inner = all.dup();
    ASSERT_TRUE(inner) << inner.error().describe();
    bool has_called = false;
    const Reduction adding = Reduction::user(
        [&](const void* left, const void* right, void* to, std::size_t count) {
          if (!std::exchange(has_called, true)) {
            std::vector<float> ones(1, 1000.0F);
            EXPECT_TRUE((*inner)->all_reduce(ones, ones, Reduction::sum));
            EXPECT_EQ(ones[0], 3000.0F);
          }
          for (std::size_t i = 0; i < count; ++i) {
            static_cast<float*>(to)[i] =
                static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
          }
        },
        Reduction::Order::any);
    const std::vector<float> mine(3, std::pow(10.0F, static_cast<float>(rank)));
    std::vector<float> sum(3);
    const auto done = all.all_reduce(mine, sum, adding);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(sum, std::vector<float>(3, 111.0F));
  });
}

TEST(Operations, MeetInAllPairsOfChoices) { EXPECT_EQ(unmet_pairs(), std::vector<std::string>{}); }

}  // namespace
}  // namespace muster::tests
