#include "benchmarks/common/collective.h"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(CollectiveJob, IsReadFromItsName) {
  const auto job = CollectiveJob::parse("tcp.allgather.64M.4.arena");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->operation, Collective::allgather);
  EXPECT_EQ(job->ranks, 4);
  EXPECT_EQ(job->elements, (std::size_t{64} << 20) / 4 / 4);
  EXPECT_EQ(job->result_elements(3) * sizeof(float), std::size_t{64} << 20);
  EXPECT_TRUE(job->is_tcp);
  EXPECT_TRUE(job->is_arena);
}

TEST(CollectiveJob, HasAnElementForEachRankAtLeast) {
  EXPECT_EQ(CollectiveJob::parse("scatter.4B.8")->elements, 1U);
  EXPECT_EQ(CollectiveJob::parse("allreduce.4B.8")->elements, 1U);
}

TEST(CollectiveJob, IsNothingElse) {
  for (const char* name : {"", "allreduce", "allreduce.4B", "allreduce.4.4", "sum.4B.4",
                           "allreduce.4B.0", "allreduce.4B.4.more", "udp.allreduce.4B.4"}) {
    EXPECT_FALSE(CollectiveJob::parse(name)) << name;
  }
}

TEST(CollectiveJob, AcceptsTheRightNumbers) {
  const auto job = *CollectiveJob::parse("allreduce.1K.3");
  std::vector<float> sum(job.elements);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<float> input(job.elements);
    fill(job, rank, 7, input, {});
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input[i];
  }
  verify(job, 1, 7, sum);
}

TEST(CollectiveJobDeathTest, RefusesOneWrongNumberAnywhere) {
  const auto job = *CollectiveJob::parse("broadcast.1K.3");
  std::vector<float> numbers(job.elements);
  fill(job, 0, 7, {}, numbers);
  verify(job, 2, 7, numbers);
  for (const std::size_t at : {std::size_t{0}, std::size_t{100}, numbers.size() - 1}) {
    std::vector<float> wrong = numbers;
    wrong[at] += 1;
    EXPECT_EXIT(verify(job, 2, 7, wrong), ::testing::ExitedWithCode(1), "wrong numbers");
  }
  // And those of the round before.
  EXPECT_EXIT(verify(job, 2, 8, numbers), ::testing::ExitedWithCode(1), "wrong numbers");
}

}  // namespace
}  // namespace muster::bench
