// Calls that do not match, where nobody waits for what would tell.

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

// Both send, and neither looks at what the other has sent; nor does the root of what follows.
TEST(Mismatched, RanksThatBothTookThemselvesForTheRootAreNamedAtTheNextCall) {
  SimRanks ranks(2, 1);
  std::vector<float> data(3);
  EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
    const auto done = all.broadcast(data, rank);
    EXPECT_TRUE(done) << done.error().describe();
  }));
  ranks.net().run_for(1s);
  EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
    const auto next = all.broadcast(data, 0);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), Code::invalid) << next.error().describe();
    for (const char* const part : {"root 0", "root 1", "as operation 1"}) {
      EXPECT_NE(next.error().message().find(part), std::string::npos) << next.error().describe();
    }
  }));
}

}  // namespace
}  // namespace muster::tests
