// Ranks as threads of one process, over each way that messages and memory can take.

#include "muster/collectives/communicator.h"

#include <numeric>

#include <gtest/gtest.h>

#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

class OverEachWay : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Communicator, OverEachWay,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& info) { return name(info.param); });

TEST_P(OverEachWay, ASumReachesEverybody) {
  LocalRanks ranks(GetParam(), 4);
  ranks.run([](Rank rank, Communicator& all) {
    for (const std::size_t count : {0UL, 1UL, 7UL, 1000UL, 5000UL, 100000UL}) {
      std::vector<float> mine(count, static_cast<float>(rank + 1));
      std::vector<float> sum(count);
      const auto done = all.all_reduce(mine, sum, Reduction::sum);
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(sum, std::vector<float>(count, 10.0F));
      ASSERT_TRUE(all.barrier());
      const auto again = all.all_reduce(mine, mine, Reduction::mean);
      ASSERT_TRUE(again) << again.error().describe();
      EXPECT_EQ(mine, std::vector<float>(count, 2.5F));
    }
  });
}

TEST_P(OverEachWay, TheRootsNumbersReachEverybody) {
  LocalRanks ranks(GetParam(), 3);
  ranks.run([](Rank rank, Communicator& all) {
    for (const std::size_t count : {0UL, 1UL, 3000UL, 100000UL}) {
      for (Rank root = 0; root < all.size(); ++root) {
        std::vector<std::int32_t> data(count);
        if (rank == root) std::iota(data.begin(), data.end(), static_cast<int>(root));
        const auto done = all.broadcast(data, root);
        ASSERT_TRUE(done) << done.error().describe();
        std::vector<std::int32_t> expected(count);
        std::iota(expected.begin(), expected.end(), static_cast<int>(root));
        EXPECT_EQ(data, expected);
      }
    }
  });
}

TEST_P(OverEachWay, SurvivorsHearOfALossAndGoOn) {
  LocalRanks ranks(GetParam(), 4);
  ranks.run([](Rank, Communicator& all) { ASSERT_TRUE(all.barrier()); });
  ranks.at(2).reset();
  ranks.run([](Rank, Communicator& all) {
    const auto done = all.barrier();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::unavailable);
    EXPECT_NE(done.error().message().find("rank 2"), std::string::npos) << done.error().describe();
    auto shrunk = all.shrink(std::chrono::seconds(30));
    ASSERT_TRUE(shrunk) << shrunk.error().describe();
    ASSERT_EQ((*shrunk)->size(), 3U);
    EXPECT_EQ((*shrunk)->completed_before(), 1U);
    std::vector<double> one{1.0};
    const auto sum = (*shrunk)->all_reduce(one, one, Reduction::sum);
    ASSERT_TRUE(sum) << sum.error().describe();
    EXPECT_EQ(one[0], 3.0);
    ASSERT_TRUE((*shrunk)->barrier());
  });
}

}  // namespace
}  // namespace muster::tests
