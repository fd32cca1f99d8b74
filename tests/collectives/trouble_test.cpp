// Calls that fail, and what is left of them.

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

TEST(Joining, EndsAtTheDeadlineWhereNoOtherIsGiven) {
  LocalRanks ranks(Way::inproc, 1);
  CommunicatorOptions options = ranks.options(3, 0);
  options.name = "others";
  options.manners.deadline = 20ms;
  const auto joined = Communicator::join(ranks.loop(), options);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code(), Code::timeout) << joined.error().describe();
  EXPECT_NE(joined.error().message().find("ranks 1, 2"), std::string::npos)
      << joined.error().describe();
}

// Both see that the other counts otherwise, whoever goes first.
TEST(Joining, IsRefusedToWhoExpectsAnotherSize) {
  LocalRanks ranks(Way::inproc, 1);
  std::vector<std::thread> threads;
  for (const Rank rank : {0U, 1U}) {
    threads.emplace_back([&, rank] {
      CommunicatorOptions options = ranks.options(2 + rank, rank);
      options.name = "others";
      const auto joined = Communicator::join(ranks.loop(), options, 20s);
      EXPECT_EQ(joined.error().code(), Code::invalid) << joined.error().describe();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Joining, ANewcomerThatIsEarlyKeepsNobodyFromFounding) {
  LocalRanks ranks(Way::inproc, 1);
  const auto options = [&](Rank size, Rank rank) {
    CommunicatorOptions made = ranks.options(size, rank);
    made.name = "others";
    return made;
  };
  std::stop_source stop;
  std::thread newcomer([&] {
    const auto joined = Communicator::join(ranks.loop(), options(3, 2), stop.get_token());
    EXPECT_EQ(joined.error().code(), Code::cancelled) << joined.error().describe();
  });

  // Long enough for it to be seen. The other founder does not come.
  const auto alone = Communicator::join(ranks.loop(), options(2, 0), 300ms);
  EXPECT_EQ(alone.error().code(), Code::timeout) << alone.error().describe();
  stop.request_stop();
  newcomer.join();
}

}  // namespace
}  // namespace muster::tests
