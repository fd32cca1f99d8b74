// What else than sums a communicator does that goes on over its survivors.

#include <gtest/gtest.h>

#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

class Elastic : public ::testing::TestWithParam<Way> {
 protected:
  // Rank 1 of four is lost, and an operation has gone on without it.
  Elastic()
      : ranks(GetParam(), 4, [](CommunicatorOptions& options) { options.manners.elastic = true; }) {
    ranks.run([](Rank, Communicator& all) { ASSERT_TRUE(all.barrier()); });
    ranks.at(1).reset();
    ranks.run([](Rank, Communicator& all) {
      const auto done = all.barrier();
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(*done->contributors, (std::vector<Rank>{0, 2, 3}));
    });
  }
  LocalRanks ranks;
};
INSTANTIATE_TEST_SUITE_P(OverEachWay, Elastic,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& one) { return name(one.param); });

TEST_P(Elastic, RanksPassNumbersByTheNumbersTheyHadBefore) {
  ranks.run([](Rank rank, Communicator& all) {
    for (const Rank to : {0U, 2U, 3U}) {
      const std::vector<std::int32_t> mine{static_cast<int>(10 * rank + to)};
      const auto sent = all.send(mine, to, 0, 20s);
      ASSERT_TRUE(sent) << sent.error().describe();
    }
    for (const Rank from : {3U, 2U, 0U}) {
      std::vector<std::int32_t> came(1);
      const auto taken = all.receive(came, from, 0, 20s);
      ASSERT_TRUE(taken) << taken.error().describe();
      EXPECT_EQ(came[0], static_cast<int>(10 * from + rank));
    }
    std::vector<std::int32_t> one{1};
    EXPECT_EQ(all.send(one, 1).error().code(), Code::unavailable);
    EXPECT_EQ(all.receive(one, 1).error().code(), Code::unavailable);
    ASSERT_TRUE(all.barrier());
  });
}

TEST_P(Elastic, RanksShareWithThoseWhoAreLeft) {
  ranks.run([](Rank rank, Communicator& all) {
    const auto shared = all.all_share(Buffer::copy_of("of " + std::to_string(rank)));
    ASSERT_TRUE(shared) << shared.error().describe();
    ASSERT_EQ(shared->size(), 4U);
    for (const Rank from : {0U, 2U, 3U}) {
      EXPECT_EQ((*shared)[from].text(), "of " + std::to_string(from));
    }
    EXPECT_TRUE((*shared)[1].empty());
    const auto one = all.share(rank == 3 ? Buffer::copy_of("three") : Buffer(), 3);
    ASSERT_TRUE(one) << one.error().describe();
    EXPECT_EQ(one->text(), "three");
    EXPECT_EQ(all.share(Buffer(), 1).error().code(), Code::unavailable);
    ASSERT_TRUE(all.barrier());
  });
}

TEST_P(Elastic, RanksMakeOthersOfThoseWhoAreLeft) {
  ranks.run([](Rank rank, Communicator& all) {
    auto twin = all.dup();
    ASSERT_TRUE(twin) << twin.error().describe();
    EXPECT_EQ((*twin)->size(), 3U);
    auto part = all.split(rank == 0 ? 0 : 1, 0);
    ASSERT_TRUE(part) << part.error().describe();
    EXPECT_EQ((*part)->size(), rank == 0 ? 1U : 2U);
    ASSERT_TRUE((*part)->barrier());
    ASSERT_TRUE((*twin)->barrier());
  });
}

TEST_P(Elastic, ANewcomerTakesTheLastRank) {
  std::thread newcomer([this] {
    auto joined = Communicator::join(ranks.loop(), ranks.options(4, 3), 20s);
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_EQ((*joined)->rank(), 3U);
    ASSERT_TRUE((*joined)->barrier());
  });
  ranks.run([](Rank rank, Communicator& all) {
    auto grown = all.grow(4, 20s);
    ASSERT_TRUE(grown) << grown.error().describe();
    EXPECT_EQ((*grown)->size(), 4U);
    EXPECT_EQ((*grown)->rank(), rank == 0 ? 0U : rank - 1);
    ASSERT_TRUE((*grown)->barrier());
  });
  newcomer.join();
}

// Each rank sends as many as its number to everybody, from where they come in.
TEST_P(Elastic, BlocksChangePlacesWhereTheyLie) {
  ranks.run([](Rank rank, Communicator& all) {
    const std::vector<std::uint64_t> counts(4, 2);
    std::vector<std::int32_t> numbers(8, static_cast<int>(rank));
    const auto done = all.all_to_all_v(numbers, counts, numbers, counts);
    ASSERT_TRUE(done) << done.error().describe();
    for (const Rank from : {0U, 2U, 3U}) EXPECT_EQ(numbers[2 * from], static_cast<int>(from));
    EXPECT_EQ(numbers[2], static_cast<int>(rank)) << "nothing came from who is lost";
    ASSERT_TRUE(all.barrier());
  });
}

TEST_P(Elastic, WhoDoesNotComeIsCalledByTheNumberItHadBefore) {
  ranks.run([](Rank rank, Communicator& all) {
    if (rank == 3) return;
    std::vector<float> one(1);
    const auto late = all.receive(one, 3, 0, 1ms);
    EXPECT_NE(late.error().describe().find("rank 3"), std::string::npos) << late.error().describe();
  });
  ranks.at(3).reset();
  ranks.run([](Rank, Communicator& all) {
    std::vector<float> one(1);
    const auto none = all.receive(one, 3, 0, 20s);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().describe().find("rank 3"), std::string::npos) << none.error().describe();
  });
}

}  // namespace
}  // namespace muster::tests
