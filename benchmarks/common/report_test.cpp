#include "benchmarks/common/report.h"

#include <gtest/gtest.h>

#include "benchmarks/common/samples.h"

namespace muster::bench {
namespace {

TEST(Report, IsOneLineOfJson) {
  const Report report{0.61, "us", true, {{"p99", 0.9}, {"calls", 100}}};

  EXPECT_EQ(to_json(report), R"({"value": 0.61, "unit": "us", "lower_is_better": true, )"
                             R"("extra": {"p99": 0.9, "calls": 100}})");
}

TEST(Samples, GiveTheSmallestValueThatTheShareDoesNotExceed) {
  Samples samples(0);
  for (int i = 10; i >= 1; --i) samples.add(i);

  EXPECT_EQ(samples.percentile(0.5), 5);
  EXPECT_EQ(samples.percentile(0.99), 10);
  EXPECT_EQ(samples.percentile(0), 1);
}

TEST(SamplesDeathTest, HaveNoPercentileWithoutAMeasurement) {
  EXPECT_EXIT(Samples(10).percentile(0.5), testing::ExitedWithCode(1), "nothing was measured");
}

}  // namespace
}  // namespace muster::bench
