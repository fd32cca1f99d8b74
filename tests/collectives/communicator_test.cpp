// Ranks as threads of one process, over each way that messages and memory can take.

#include "muster/collectives/communicator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/testing/local_group.h"
#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

class OverEachWay : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Communicator, OverEachWay,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& one) { return name(one.param); });

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

// Larger than all that may be under way to a rank: it must not wait for credit
// that few bytes before it never get.
TEST_P(OverEachWay, WhatIsLargerThanAllThatMayBeUnderWayFollowsWhatIsSmall) {
  constexpr std::size_t kLarge = std::size_t{9} << 20;
  LocalRanks ranks(GetParam(), 2,
                   [](CommunicatorOptions& options) { options.manners.deadline = 20s; });
  ranks.run([](Rank rank, Communicator& all) {
    std::vector<std::uint8_t> mine(2 * kLarge, static_cast<std::uint8_t>(rank + 1));
    std::vector<std::uint8_t> came(2 * kLarge);
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(all.barrier());
      const auto done = all.all_to_all(mine, came);
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(came[kLarge - 1], 1);
      EXPECT_EQ(came[kLarge], 2);
    }
    const Rank other = 1 - rank;
    for (const std::size_t bytes : {std::size_t{5}, kLarge, std::size_t{5}, kLarge}) {
      const std::span<std::uint8_t> part(mine.data(), bytes);
      if (rank == 0) {
        const auto sent = all.send(part, other, 1, 20s);
        ASSERT_TRUE(sent) << sent.error().describe();
      } else {
        const auto taken = all.receive(part, other, 1, 20s);
        ASSERT_TRUE(taken) << taken.error().describe();
        EXPECT_EQ(part.back(), 1);
      }
    }
    ASSERT_TRUE(all.barrier());
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

// Numbers whose sums depend on the order in which they are taken.
template <class T = float>
std::vector<T> touchy(Rank rank, std::size_t count) {
  std::minstd_rand random(rank + 1);
  std::vector<T> numbers(count);
  constexpr int kRange = sizeof(T) == sizeof(float) ? 40 : 100;
  for (T& number : numbers) {
    number = std::ldexp(static_cast<T>(random() % 1000003), static_cast<int>(random() % kRange));
  }
  return numbers;
}

TEST(Memory, OfADriverIsReadInPlaceOnceItWasIntroduced) {
  LocalRanks ranks(Way::shm, 3);
  const WritableBuffer own = *ranks[0].allocate(100'000);
  EXPECT_TRUE(ranks[0].is_read_in_place(own.bytes()));
  // More than there is room for in the segment that is known by now.
  WritableBuffer other = *ranks.allocate(std::size_t{100} << 20);
  EXPECT_FALSE(ranks[0].is_read_in_place(other.bytes()));
  const std::span<const std::byte> bytes = other.bytes();

  const Buffer kept = std::move(other).freeze();
  ranks[0].introduce(kept);

  EXPECT_TRUE(ranks[0].is_read_in_place(bytes));
  EXPECT_FALSE(ranks[0].is_read_in_place(std::as_bytes(std::span("private"))));
}

// What four ranks make of them; the first of them is late by `delays`.
std::vector<std::vector<float>> sums_of(Way way, bool is_arena, int delays) {
  LocalRanks ranks(way, 4, [](auto& options) { options.manners.reproducible = true; });
  std::vector<std::vector<float>> sums(4);
  ranks.run([&](Rank rank, Communicator& all) {
    for (int i = 0; i < delays && rank == 0; ++i) std::this_thread::yield();
    for (const std::size_t count : {5UL, 3000UL, 150000UL}) {
      std::vector<float> mine = touchy(rank, count);
      std::span<float> numbers(mine);
      WritableBuffer memory;
      if (is_arena) {
        memory = *all.allocate(count * sizeof(float));
        numbers = {reinterpret_cast<float*>(memory.data()), count};
        std::ranges::copy(mine, numbers.begin());
      }
      ASSERT_TRUE(all.all_reduce(numbers, numbers, Reduction::sum));
      sums[rank].insert(sums[rank].end(), numbers.begin(), numbers.end());
    }
    ASSERT_TRUE(all.barrier());
  });
  return sums;
}

TEST_P(OverEachWay, ReproducibleSumsAreTheSameBitsOnAllRanksAndInAllRuns) {
  const auto first = sums_of(GetParam(), false, 0);
  for (Rank rank = 1; rank < 4; ++rank) EXPECT_EQ(first[rank], first[0]);
  for (const int delays : {1, 300}) EXPECT_EQ(sums_of(GetParam(), false, delays), first);
  EXPECT_EQ(sums_of(GetParam(), true, 0), first) << "wherever the numbers lie";
}

template <class T>
void add_shares(Rank rank, Communicator& all, std::size_t count, std::vector<double>& into) {
  const std::vector<T> mine = touchy<T>(rank, 4 * count);
  std::vector<T> whole(rank == 2 ? 4 * count : 0);
  ASSERT_TRUE(all.reduce(mine, whole, Reduction::sum, 2));
  std::vector<T> share(count);
  ASSERT_TRUE(all.reduce_scatter(mine, share, Reduction::mean));
  into.insert(into.end(), whole.begin(), whole.end());
  into.insert(into.end(), share.begin(), share.end());
}

TEST_P(OverEachWay, ReproducibleSharesAreTheSameBitsInAllRuns) {
  const auto shares = [&](int delays) {
    LocalRanks ranks(GetParam(), 4, [](auto& options) { options.manners.reproducible = true; });
    std::vector<std::vector<double>> all_shares(4);
    ranks.run([&](Rank rank, Communicator& all) {
      for (int i = 0; i < delays && rank == 0; ++i) std::this_thread::yield();
      for (const std::size_t count : {3UL, 1000UL, 40000UL}) {
        add_shares<float>(rank, all, count, all_shares[rank]);
        add_shares<double>(rank, all, count, all_shares[rank]);
      }
      ASSERT_TRUE(all.barrier());
    });
    return all_shares;
  };
  const auto first = shares(0);
  for (const int delays : {1, 300}) EXPECT_EQ(shares(delays), first);
}

TEST(Reproducible, SumsOnOneHostAreTakenInTheOrderOfRanks) {
  const auto sums = sums_of(Way::shm, false, 0);
  EXPECT_EQ(sums_of(Way::staged, false, 0), sums);
  std::size_t at = 0;
  for (const std::size_t count : {5UL, 3000UL, 150000UL}) {
    std::vector<float> plain = touchy(0, count);
    for (Rank rank = 1; rank < 4; ++rank) {
      const std::vector<float> next = touchy(rank, count);
      for (std::size_t i = 0; i < count; ++i) plain[i] += next[i];
    }
    const auto begin = sums[0].begin() + static_cast<std::ptrdiff_t>(at);
    EXPECT_TRUE(std::equal(plain.begin(), plain.end(), begin)) << count;
    at += count;
  }
}

TEST(OverProxies, ACommunicatorIsMadeOfNamedComponentsOrOfAllOfAType) {
  msg::testing::LocalGroup group(
      [](loop::Loop& loop) { return drivers::make_inproc_driver(loop); });
  std::vector<std::thread> threads;
  for (const std::string name : {"learner_2", "learner_0", "learner_1"}) {
    threads.emplace_back([&group, name] {
      const auto proxy = group.join(name, {{.type = "learner", .count = 2}});
      auto typed = Communicator::over_type(*proxy, "all", "learner", 3, {}, 60s);
      ASSERT_TRUE(typed) << typed.error().describe();
      EXPECT_EQ("learner_" + std::to_string((*typed)->rank()), name);
      EXPECT_EQ((*typed)->member(1), "learner_1");
      std::vector<std::int64_t> sum{(*typed)->rank()};
      ASSERT_TRUE((*typed)->all_reduce(sum, sum, Reduction::sum));
      EXPECT_EQ(sum[0], 3);
      if (name != "learner_1") {
        auto two = Communicator::over(*proxy, "two", {"learner_2", "learner_0"}, {}, 60s);
        ASSERT_TRUE(two) << two.error().describe();
        EXPECT_EQ((*two)->rank(), name == "learner_2" ? 0U : 1U);
        ASSERT_TRUE((*two)->barrier());
      } else {
        const auto stranger = Communicator::over(*proxy, "two", {"learner_2", "learner_0"});
        EXPECT_EQ(stranger.error().code(), Code::invalid);
        const auto twice = Communicator::over(*proxy, "three", {name, "learner_0", name}, {}, 60s);
        EXPECT_EQ(twice.error().code(), Code::invalid) << "who is named twice never comes twice";
      }
      ASSERT_TRUE((*typed)->barrier());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::tests
