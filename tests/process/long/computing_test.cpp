// The same as beside it, for as long as the promise says.

#include "tests/process/computing.h"

#include <gtest/gtest.h>

namespace muster::tests {
namespace {

using std::chrono::seconds;

TEST(LongPrompt, AThreadThatComputesForTenSecondsStopsNeitherTimersNorDescriptors) {
  expect_heard(compute_for(seconds(10)), seconds(10));
}

}  // namespace
}  // namespace muster::tests
