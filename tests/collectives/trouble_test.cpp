// Calls that fail, and what is left of them.

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "muster/collectives/choices.h"
#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

class InTrouble : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OverEachWay, InTrouble,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& one) { return name(one.param); });

TEST_P(InTrouble, AFunctionThatThrowsFailsTheOperationOnEveryRank) {
  for (const bool is_future : {false, true}) {
    for (const std::size_t count : {3UL, 20000UL}) {
      LocalRanks ranks(GetParam(), 3);
      ranks.run([&](Rank rank, Communicator& all) {
        const Reduction picky = Reduction::user(
            [rank](const void*, const void*, void*, std::size_t) {
              if (rank != 2) throw std::runtime_error("not these");
            },
            Reduction::Order::any);
        std::vector<float> numbers(count);
        const auto done = is_future ? all.iall_reduce(numbers, numbers, picky).get()
                                    : all.all_reduce(numbers, numbers, picky);
        if (done) {  // It may have been done before the others came so far.
          EXPECT_EQ(rank, 2U);
        } else {
          EXPECT_EQ(done.error().code(), Code::failed) << done.error().describe();
          EXPECT_NE(done.error().message().find("not these"), std::string::npos)
              << done.error().describe();
        }
        EXPECT_FALSE(all.barrier());
        auto again = all.shrink(20s);
        ASSERT_TRUE(again) << again.error().describe();
        EXPECT_EQ((*again)->size(), 3U);
        ASSERT_TRUE((*again)->barrier());
      });
    }
  }
}

TEST_P(InTrouble, CallsWithCountsOfTheirOwnAreNamedWhereTheyDoNotMatch) {
  using Call = std::function<Result<Outcome>(Communicator&)>;
  std::vector<float> numbers(6);
  const std::vector<std::uint64_t> twos(3, 2);
  const auto scatter = [&](Rank root) {
    return [&, root](Communicator& all) {
      std::vector<float> mine(2);
      return all.scatter_v(numbers, twos, mine, root);
    };
  };
  const Call gather = [&](Communicator& all) {
    std::vector<float> whole(6);
    return all.gather_v(std::span(numbers).first(2), whole, twos, 0);
  };
  const Call all_to_all = [&](Communicator& all) {
    std::vector<float> came(6);
    return all.all_to_all_v(numbers, twos, came, twos);
  };
  struct Pair {
    Call one;
    Call other;
    std::string named[2];
  };
  const Pair pairs[] = {
      {scatter(0), scatter(2), {"scatter_v(f32, root 0)", "scatter_v(f32, root 2)"}},
      {scatter(0), all_to_all, {"scatter_v(f32, root 0)", "all_to_all_v(f32)"}},
      {scatter(0), gather, {"scatter_v(f32, root 0)", "gather_v(f32, root 0)"}},
      {gather, all_to_all, {"gather_v(f32, root 0)", "all_to_all_v(f32)"}},
  };
  for (const Pair& pair : pairs) {
    LocalRanks ranks(GetParam(), 3);
    ranks.run([&](Rank rank, Communicator& all) {
      ASSERT_TRUE(all.barrier());
      auto done = rank == 1 ? pair.other(all) : pair.one(all);
      // Who was done with its part before hears of it in what follows, and is told
      // what the other called; its own call may be another one by then.
      for (int more = 0; done && more < 10; ++more) done = all.barrier();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
      EXPECT_TRUE(std::ranges::any_of(pair.named, [&](const std::string& name) {
        return done.error().message().find(name) != std::string::npos;
      })) << done.error().describe();
    });
  }
}

// Nobody comes: who waited for newcomers first would not know before its time is over.
TEST_P(InTrouble, RanksThatGrowToDifferentSizesAreNamedAtOnce) {
  LocalRanks ranks(GetParam(), 3);
  const auto start = std::chrono::steady_clock::now();
  ranks.run([&](Rank rank, Communicator& all) {
    const auto grown = all.grow(rank == 1 ? 5 : 4, 20s);
    ASSERT_FALSE(grown);
    EXPECT_EQ(grown.error().code(), Code::invalid) << grown.error().describe();
    EXPECT_NE(grown.error().message().find("grow(5)"), std::string::npos)
        << grown.error().describe();
    auto again = all.shrink(20s);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_TRUE((*again)->barrier());
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
}

// Two are lost, one after the other, and the call is repeated in vain between.
TEST_P(InTrouble, WhatIsInterruptedTwiceCanStillBeRepeated) {
  LocalRanks ranks(GetParam(), 4,
                   [](CommunicatorOptions& options) { options.manners.keep_input = true; });
  ranks.at(1).reset();
  std::vector<std::unique_ptr<Communicator>> left(4);
  std::vector<std::vector<std::int32_t>> numbers(4);
  ranks.run([&](Rank rank, Communicator& all) {
    numbers[rank].assign(4 * 3000, static_cast<int>(rank) + 1);
    const auto own = std::span(numbers[rank]).subspan(3000 * rank, 3000);
    ASSERT_FALSE(all.reduce_scatter(numbers[rank], own, Reduction::sum));
    auto shrunk = all.shrink(20s);
    ASSERT_TRUE(shrunk) << shrunk.error().describe();
    left[rank] = *std::move(shrunk);
    ASSERT_FALSE(all.shrink(20s)) << "it was done before";
  });
  left[3].reset();
  ranks.at(3).reset();
  ranks.run([&](Rank rank, Communicator&) {
    ASSERT_FALSE(left[rank]->repeat());
    auto shrunk = left[rank]->shrink(20s);
    ASSERT_TRUE(shrunk) << shrunk.error().describe();
    const auto done = (*shrunk)->repeat();
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ((*shrunk)->repeat().error().code(), Code::invalid) << "it is done";
    for (std::size_t i = 3000 * rank; i < 3000 * (rank + 1); ++i) {
      ASSERT_EQ(numbers[rank][i], 1 + 3) << i;  // Of ranks 0 and 2.
    }
    ASSERT_TRUE((*shrunk)->barrier());
    left[rank] = *std::move(shrunk);
  });
}

// What it had received lies where its input was when it fails.
TEST_P(InTrouble, BlocksThatChangePlacesWhereTheyLieAreKeptToBeRepeated) {
  LocalRanks ranks(GetParam(), 3,
                   [](CommunicatorOptions& options) { options.manners.keep_input = true; });
  ranks.at(1).reset();
  ranks.run([](Rank rank, Communicator& all) {
    const std::vector<std::uint64_t> counts(3, 100);
    std::vector<std::int32_t> numbers(300);
    for (std::size_t i = 0; i < 300; ++i) numbers[i] = static_cast<int>(10 * rank + i / 100);
    ASSERT_FALSE(all.all_to_all_v(numbers, counts, numbers, counts));
    // As a receiver may leave it.
    std::ranges::fill(numbers, -1);
    auto left = all.shrink(20s);
    ASSERT_TRUE(left) << left.error().describe();
    const auto done = (*left)->repeat();
    ASSERT_TRUE(done) << done.error().describe();
    for (const Rank from : {0U, 2U}) {
      for (std::size_t i = 0; i < 100; ++i) {
        ASSERT_EQ(numbers[from * 100 + i], static_cast<int>(10 * from + rank));
      }
    }
    ASSERT_TRUE((*left)->barrier());
  });
}

// Nobody comes, and the one that counts has less patience than the others.
TEST_P(InTrouble, RanksStopLookingForNewcomersWhenRankZeroDoes) {
  LocalRanks ranks(GetParam(), 3);
  const TimePoint begun = system_clock().now();
  ranks.run([](Rank rank, Communicator& all) {
    const auto grown = all.grow(4, rank == 0 ? msg::Wait(50ms) : msg::Wait(60s));
    ASSERT_FALSE(grown);
    EXPECT_EQ(grown.error().code(), Code::timeout) << grown.error().describe();
    EXPECT_TRUE(all.barrier());
  });
  EXPECT_LT(system_clock().now() - begun, 30s);
}

class OnOneHost : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Over, OnOneHost, ::testing::Values(Way::shm, Way::staged),
                         [](const auto& one) { return name(one.param); });

// A root is ahead by as many operations as there are slots, and then waits; how far the others
// have come is known to it from a barrier, and later from nothing but their progress.
TEST_P(OnOneHost, ARootThatIsAheadOverwritesNothingThatIsStillToBeRead) {
  constexpr std::uint64_t kAhead = 4;
  constexpr std::uint64_t kBroadcasts = 11;
  LocalRanks ranks(GetParam(), 2);
  ranks.run([&](Rank rank, Communicator& all) {
    for (int round = 0; round < 20; ++round) {
      ASSERT_TRUE(all.barrier());
      const std::uint64_t last = all.completed() + kBroadcasts;
      for (std::int64_t i = 0; all.completed() < last; ++i) {
        const std::uint64_t lead = std::min(all.completed() + kAhead, last);
        const TimePoint limit = system_clock().now() + 30s;
        while (rank == 1 && ranks[0].completed() < lead) {
          ASSERT_LT(system_clock().now(), limit) << "the root has come less far than it may";
          std::this_thread::yield();
        }
        std::vector<std::int64_t> number{rank == 0 ? i : -1};
        const auto done = all.broadcast(number, 0);
        ASSERT_TRUE(done) << done.error().describe();
        ASSERT_EQ(number[0], i);
      }
    }
  });
}

// It has come, and is busy with what the user gave it to do.
TEST_P(OnOneHost, WhoDoesNotGoOnIsNamedWhenTheDeadlinePasses) {
  LocalRanks ranks(GetParam(), 2,
                   [](CommunicatorOptions& options) { options.manners.deadline = 200ms; });
  std::atomic<bool> is_over = false;
  ranks.run([&](Rank rank, Communicator& all) {
    const Reduction first = Reduction::user(
        [&](const void* left, const void*, void* to, std::size_t count) {
          if (rank == 1) is_over.wait(false);
          std::copy_n(static_cast<const float*>(left), count, static_cast<float*>(to));
        },
        Reduction::Order::any);
    const std::vector<float> mine(100000, 1.0F);
    std::vector<float> result(100000);
    const auto done = all.all_reduce(mine, result, first);
    EXPECT_FALSE(done);
    if (rank == 1) return;
    is_over = true;
    is_over.notify_all();
    EXPECT_EQ(done.error().code(), Code::timeout) << done.error().describe();
    EXPECT_NE(done.error().message().find("rank 1 did not go on"), std::string::npos)
        << done.error().describe();
  });
}

// Who is not the root is done when its share lies in its window; the root is held up.
TEST_P(OnOneHost, WhatARankHasBroughtStaysThereWhenItHasClosed) {
  constexpr std::size_t kCount = 100000;
  std::vector<Choice> rows;
  for (const Ground ground : {Ground::readable, Ground::windows}) {
    rows.push_back({.ground = ground,
                    .operation = Operation::reduce,
                    .bytes = UINT64_MAX,
                    .algorithm = Algorithm::staged,
                    .segment = std::uint64_t{1} << 20});
  }
  const ChoiceTable in_one_piece = *ChoiceTable::make(std::move(rows));
  LocalRanks ranks(GetParam(), 2,
                   [&](CommunicatorOptions& options) { options.choices = &in_one_piece; });
  std::atomic<bool> is_closed = false;
  std::vector<WritableBuffer> memory;
  ranks.run([&](Rank rank, Communicator& all) {
    auto twin = all.dup();
    ASSERT_TRUE(twin) << twin.error().describe();
    const Reduction sum = Reduction::user(
        [&](const void* left, const void* right, void* to, std::size_t count) {
          if (rank == 1) is_closed.wait(false);
          for (std::size_t i = 0; i < count; ++i) {
            static_cast<float*>(to)[i] =
                static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
          }
        },
        Reduction::Order::any);
    const std::vector<float> mine(kCount, 1.0F);
    std::vector<float> result(rank == 1 ? kCount : 0);
    const auto done = (*twin)->reduce(mine, result, sum, 1);
    EXPECT_TRUE(done) << done.error().describe();
    if (rank == 1) {
      EXPECT_EQ(result, std::vector<float>(kCount, 2.0F));
      return;
    }
    twin->reset();
    // What was let go last is handed out first.
    for (int i = 0; i < 2; ++i) {
      memory.push_back(*all.allocate(std::size_t{4} << 20));
      std::ranges::fill(memory.back().bytes(), std::byte{0xff});
    }
    is_closed = true;
    is_closed.notify_all();
  });
}

// What is too large to come unasked comes when its operation has begun, not when somebody
// looks after what was forgotten.
TEST(Messages, OnOneHostComeAsSoonAsTheyAreWanted) {
  LocalRanks ranks(Way::staged, 3, [](CommunicatorOptions& options) {
    options.beat = 1h;
    options.silence = 10h;
  });
  ranks.run([](Rank rank, Communicator& all) {
    const std::vector<std::uint64_t> counts{40000, 50000, 60000};
    std::vector<std::uint64_t> receives(3, counts[rank]);
    std::vector<std::int32_t> mine(150000, static_cast<int>(rank));
    std::vector<std::int32_t> came(3 * counts[rank]);
    for (int round = 0; round < 3; ++round) {
      const auto done = all.all_to_all_v(mine, counts, came, receives);
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(came.front(), 0);
      EXPECT_EQ(came.back(), 2);
    }
    ASSERT_TRUE(all.barrier());
  });
}

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

TEST(PointToPoint, RefusesNumbersAtNoAddress) {
  LocalRanks ranks(Way::inproc, 1);
  EXPECT_EQ(ranks[0].send(Input(nullptr, 3, Element::f32), 0).error().code(), Code::invalid);
  EXPECT_EQ(ranks[0].receive(Output(nullptr, 3, Element::f32), 0).error().code(), Code::invalid);
}

}  // namespace
}  // namespace muster::tests
