// What just fits into a slot of a desk, and what just does not: it is right, and the next slot is
// as it was.

#include <gtest/gtest.h>

#include "muster/collectives/desk.h"
#include "tests/collectives/cases.h"
#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 2;
constexpr std::uint64_t kFits = kPayload / sizeof(float);

// Then both meet, and one comes late: the other sees what that one has in its next slot.
void meet_after(const Case& one, Rank late) {
  SCOPED_TRACE(text_of(one) + ", rank " + std::to_string(late) + " is late");
  SimRanks ranks(kSize, 1, {}, false, {0, 0});
  for (int round = 0; round < 2; ++round) {
    bool has_come = false;
    EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
      const Checked checked = run(one, all);
      EXPECT_TRUE(checked.outcome) << checked.outcome.error().describe();
      EXPECT_EQ(checked.wrong, "");
      if (rank == late) {
        std::vector<float> nothing(1);
        EXPECT_EQ(all.receive(nothing, 1 - rank, 0, 1ms).error().code(), Code::timeout);
        has_come = true;
      }
      const auto met = all.barrier();
      EXPECT_TRUE(met) << met.error().describe();
      EXPECT_TRUE(has_come);
    }));
  }
}

TEST(Slots, HoldWhatJustFitsAndNoMore) {
  for (const Operation operation : kOperations) {
    for (const std::uint64_t most : {kFits, kFits / kSize}) {  // For each, or for all.
      for (const std::uint64_t count : {most - 1, most, most + 1}) {
        Case one;
        one.operation = operation;
        one.root = 1;
        set_counts(one, kSize, count);
        for (const Rank late : {0U, 1U}) meet_after(one, late);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace muster::tests
