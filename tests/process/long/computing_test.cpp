// The same as beside it, for as long as the promise says.

#include "tests/process/computing.h"

#include <gtest/gtest.h>

#include "tests/process/linked.h"

namespace muster::tests {
namespace {

using std::chrono::seconds;

TEST(LongPrompt, AThreadThatComputesForTenSecondsStopsNeitherTimersNorDescriptors) {
  expect_heard(compute_for(seconds(10)), seconds(10));
}

TEST(LongPrompt, AThreadThatComputesForTenSecondsKeepsItsLinks) {
  for (const char* scheme : {"shm", "tcp"}) {
    SCOPED_TRACE(scheme);
    expect_linked(compute_while_linked(scheme, seconds(10)), seconds(10));
  }
}

}  // namespace
}  // namespace muster::tests
