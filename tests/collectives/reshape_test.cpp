// Communicators made from others, calls that do not match, and what else is no plain operation.

#include <atomic>
#include <barrier>
#include <mutex>
#include <numeric>

#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

class Reshape : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OverEachWay, Reshape,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& one) { return name(one.param); });

TEST_P(Reshape, SplitGivesEachColourItsOwnRanks) {
  LocalRanks ranks(GetParam(), 5);
  ranks.run([](Rank rank, Communicator& all) {
    // Evens and odds, each in reverse; rank 4 takes no part.
    auto part = all.split(rank == 4 ? -1 : static_cast<int>(rank % 2), -static_cast<int>(rank));
    ASSERT_TRUE(part) << part.error().describe();
    if (rank == 4) {
      EXPECT_EQ(*part, nullptr);
      return;
    }
    ASSERT_EQ((*part)->size(), 2U);
    EXPECT_EQ((*part)->rank(), rank < 2 ? 1U : 0U);
    std::vector<std::int64_t> sum{rank};
    ASSERT_TRUE((*part)->all_reduce(sum, sum, Reduction::sum));
    EXPECT_EQ(sum[0], rank % 2 == 0 ? 2 : 4);
    auto twin = (*part)->dup();
    ASSERT_TRUE(twin);
    ASSERT_TRUE((*twin)->barrier());
    ASSERT_TRUE((*part)->barrier());
  });
}

TEST_P(Reshape, FuturesAreDoneInTheOrderOfTheCalls) {
  LocalRanks ranks(GetParam(), 3);
  ranks.run([](Rank rank, Communicator& all) {
    constexpr int kMany = 50;
    std::vector<std::vector<std::int32_t>> numbers;
    for (int i = 0; i < kMany; ++i) {
      numbers.emplace_back(static_cast<std::size_t>(1 + i * 40), static_cast<int>(rank) + i);
    }
    std::vector<loop::Future<Outcome>> futures;
    for (auto& one : numbers) futures.push_back(all.iall_reduce(one, one, Reduction::sum));
    std::vector<std::int32_t> last{1};
    ASSERT_TRUE(all.all_reduce(last, last, Reduction::sum));  // After all of them.
    for (int i = 0; i < kMany; ++i) {
      const auto done = futures[static_cast<std::size_t>(i)].get();
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(done->number, static_cast<std::uint64_t>(i + 1));
      EXPECT_EQ(numbers[static_cast<std::size_t>(i)].back(), 3 + 3 * i);
    }
  });
}

TEST_P(Reshape, CallsThatDoNotMatchAreNamedOnEveryRank) {
  LocalRanks ranks(GetParam(), 3);
  ranks.run([](Rank rank, Communicator& all) {
    ASSERT_TRUE(all.barrier());
    std::vector<float> numbers(rank == 1 ? 7 : 8);
    const auto done = all.all_reduce(numbers, numbers, Reduction::sum);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
    EXPECT_NE(done.error().message().find("7 x f32"), std::string::npos) << done.error().describe();
    EXPECT_NE(done.error().message().find("8 x f32"), std::string::npos) << done.error().describe();
    EXPECT_FALSE(all.barrier());
    auto again = all.shrink(30s);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ((*again)->size(), 3U);
    ASSERT_TRUE((*again)->barrier());
  });
}

TEST_P(Reshape, AnElasticSumGoesOnOverTheSurvivorsAndNamesThem) {
  LocalRanks ranks(GetParam(), 4,
                   [](CommunicatorOptions& options) { options.manners.elastic = true; });
  ranks.run([](Rank, Communicator& all) {
    std::vector<float> one{1};
    const auto done = all.all_reduce(one, one, Reduction::sum);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(one[0], 4.0F);
    EXPECT_EQ(*done->contributors, (std::vector<Rank>{0, 1, 2, 3}));
  });
  ranks.at(1).reset();
  ranks.run([](Rank rank, Communicator& all) {
    std::vector<float> mine{static_cast<float>(rank + 1)};
    const auto done = all.all_reduce(mine, mine, Reduction::mean);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(*done->contributors, (std::vector<Rank>{0, 2, 3}));
    EXPECT_EQ(mine[0], 8.0F / 3.0F);
    EXPECT_EQ(all.lost(), std::vector<Rank>{1});
    std::vector<std::int32_t> all_of_us(4, -1);
    const std::vector<std::int32_t> me{static_cast<int>(rank)};
    ASSERT_TRUE(all.all_gather(me, all_of_us));
    EXPECT_EQ(all_of_us, (std::vector<std::int32_t>{0, -1, 2, 3}));
    EXPECT_FALSE(all.broadcast(all_of_us, 1));  // The root is lost.
  });
}

TEST_P(Reshape, WhoShrinksIsFollowedByThoseWhoWaitForIt) {
  LocalRanks ranks(GetParam(), 3);
  ranks.run([](Rank rank, Communicator& all) {
    // The last rank asks nobody by itself: it has to say that it will not come.
    if (rank != 2) {
      const auto done = all.barrier();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), Code::unavailable) << done.error().describe();
    }
    auto again = all.shrink(10s);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ((*again)->size(), 3U);
    ASSERT_TRUE((*again)->barrier());
  });
}

TEST_P(Reshape, WhoIsDoneMayCloseWhileOthersAreNot) {
  for (const std::size_t count : {1UL, 3000UL, 100000UL}) {
    LocalRanks ranks(GetParam(), 4);
    ranks.run([&](Rank rank, Communicator& all) {
      std::vector<float> numbers(count, 1.0F);
      const auto done = all.all_reduce(numbers, numbers, Reduction::sum);
      EXPECT_TRUE(done) << count << ": " << done.error().describe();
      EXPECT_EQ(numbers, std::vector<float>(count, 4.0F));
      ranks.at(rank).reset();
    });
  }
}

TEST_P(Reshape, NewcomersEnterWithGrow) {
  LocalRanks ranks(GetParam(), 2);
  std::thread newcomer([&] {
    auto joined = Communicator::join(ranks.loop(), ranks.options(3, 2), 60s);
    ASSERT_TRUE(joined) << joined.error().describe();
    EXPECT_EQ((*joined)->rank(), 2U);
    std::vector<double> one{1};
    const auto done = (*joined)->all_reduce(one, one, Reduction::sum);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(one[0], 3.0);
    ASSERT_TRUE((*joined)->barrier());
  });
  ranks.run([](Rank, Communicator& all) {
    auto grown = all.grow(3, 60s);
    ASSERT_TRUE(grown) << grown.error().describe();
    ASSERT_EQ((*grown)->size(), 3U);
    std::vector<double> one{1};
    const auto done = (*grown)->all_reduce(one, one, Reduction::sum);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(one[0], 3.0);
    ASSERT_TRUE((*grown)->barrier());
  });
  newcomer.join();
}

TEST_P(Reshape, WhatWasInterruptedCanBeRepeatedIfItsInputIsThere) {
  for (const bool keeps : {false, true}) {
    LocalRanks ranks(GetParam(), 3,
                     [&](CommunicatorOptions& options) { options.manners.keep_input = keeps; });
    ranks.at(2).reset();
    ranks.run([&](Rank, Communicator& all) {
      std::vector<float> numbers(20000, 1.0F);
      ASSERT_FALSE(all.all_reduce(numbers, numbers, Reduction::sum));
      auto left = all.shrink(30s);
      ASSERT_TRUE(left) << left.error().describe();
      const auto done = (*left)->repeat();
      EXPECT_EQ(done.has_value(), keeps);
      if (keeps) {
        EXPECT_EQ(numbers, std::vector<float>(20000, 2.0F));
      }
      ASSERT_TRUE((*left)->barrier());
    });
  }
}

TEST_P(Reshape, OfWhatWasInterruptedNothingIsLostWhereThereWasNothing) {
  LocalRanks ranks(GetParam(), 3);
  ranks.at(2).reset();
  ranks.run([&](Rank, Communicator& all) {
    std::vector<float> numbers(1);
    const auto none = std::span<float>(numbers).first(0);
    // Of nothing it takes nobody's word, so that it ends well until the loss is known.
    while (all.lost().empty()) std::this_thread::yield();
    ASSERT_FALSE(all.all_reduce(none, none, Reduction::sum));
    auto left = all.shrink(30s);
    ASSERT_TRUE(left) << left.error().describe();
    const auto done = (*left)->repeat();
    EXPECT_TRUE(done) << done.error().describe();
    ASSERT_TRUE((*left)->barrier());
  });
}

TEST_P(Reshape, WhoHasNothingToRepeatKeepsNobodyWaiting) {
  LocalRanks ranks(GetParam(), 3);
  ranks.at(2).reset();
  std::barrier both(2);
  ranks.run([&](Rank rank, Communicator& all) {
    const std::vector<float> mine{1.0F};
    std::vector<float> sum(1);
    if (rank == 1) {
      ASSERT_FALSE(all.all_reduce(mine, sum, Reduction::sum));
    }
    auto left = all.shrink(30s);
    ASSERT_TRUE(left) << left.error().describe();
    const TimePoint begun = system_clock().now();
    const auto done = (*left)->repeat();
    both.arrive_and_wait();  // Who shrinks ends the other's call as well.
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
    EXPECT_LT(system_clock().now() - begun, 15s) << "it was the deadline";
    auto again = (*left)->shrink(30s);
    ASSERT_TRUE(again) << again.error().describe();
    ASSERT_TRUE((*again)->barrier());
  });
}

// Who is not the root has gone on when the root is interrupted: each would repeat another one.
TEST_P(Reshape, WhatIsRepeatedIsTheSameOnAllRanks) {
  LocalRanks ranks(GetParam(), 3);
  std::vector<std::vector<float>> numbers{{1.0F}, {10.0F}, {}};
  std::vector<float> sum(1);
  std::barrier both(2);
  const auto reduce = [&](Rank rank, Communicator& all) {
    return all.reduce(numbers[rank], rank == 0 ? Output(sum) : Output(), Reduction::sum, 0);
  };
  ranks.run([&](Rank rank, Communicator& all) {
    if (rank != 1) return;
    ASSERT_TRUE(reduce(rank, all));
    numbers[rank][0] = 20.0F;
    ASSERT_TRUE(reduce(rank, all));
  });
  ranks.at(2).reset();
  ranks.run([&](Rank rank, Communicator& all) {
    if (rank == 1) numbers[rank][0] = 30.0F;
    while (reduce(rank, all)) continue;
    auto left = all.shrink(30s);
    ASSERT_TRUE(left) << left.error().describe();
    EXPECT_EQ((*left)->completed_before(), 0U);
    const auto wrong = (*left)->repeat();
    both.arrive_and_wait();
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), Code::invalid) << wrong.error().describe();
    auto again = (*left)->shrink(30s);
    ASSERT_TRUE(again) << again.error().describe();
    if (rank == 1) numbers[rank][0] = 10.0F;
    const auto done = rank == 0 ? (*again)->repeat() : reduce(rank, **again);
    ASSERT_TRUE(done) << done.error().describe();
    if (rank == 0) {
      EXPECT_EQ(sum[0], 11.0F);
    }
    ASSERT_TRUE((*again)->barrier());
  });
}

TEST_P(Reshape, NumbersPassBetweenTwoRanksInOrder) {
  LocalRanks ranks(GetParam(), 3);
  ranks.run([](Rank rank, Communicator& all) {
    const Rank next = (rank + 1) % 3;
    const Rank before = (rank + 2) % 3;
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::vector<std::int64_t> out(static_cast<std::size_t>(i * 1000), i);
      ASSERT_TRUE(all.send(out, next, 1, 30s));
    }
    const std::vector<float> other{2.5F};
    ASSERT_TRUE(all.send(other, next, 2, 30s));
    std::vector<float> tagged(1);
    ASSERT_TRUE(all.receive(tagged, before, 2, 30s));  // Overtakes those of tag 1.
    EXPECT_EQ(tagged[0], 2.5F);
    for (std::int64_t i = 0; i < 20; ++i) {
      std::vector<std::int64_t> in(static_cast<std::size_t>(i * 1000));
      ASSERT_TRUE(all.receive(in, before, 1, 30s));
      EXPECT_EQ(in, std::vector<std::int64_t>(in.size(), i));
    }
    EXPECT_EQ(all.receive(tagged, before, 3, 1ms).error().code(), Code::timeout);
  });
}

TEST_P(Reshape, SharedBuffersAreReadWhereTheyLie) {
  LocalRanks ranks(GetParam(), 3);
  ranks.run([](Rank rank, Communicator& all) {
    auto memory = all.allocate(100000);
    ASSERT_TRUE(memory);
    std::fill(memory->data(), memory->data() + memory->size(), static_cast<std::byte>(rank));
    auto shared = all.all_share(std::move(*memory).freeze());
    ASSERT_TRUE(shared) << shared.error().describe();
    for (Rank from = 0; from < 3; ++from) {
      ASSERT_EQ((*shared)[from].size(), 100000U);
      EXPECT_EQ((*shared)[from].data()[99999], static_cast<std::byte>(from));
    }
    auto one = all.share(rank == 1 ? Buffer::copy_of("hello") : Buffer(), 1);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->text(), "hello");
    ASSERT_TRUE(all.barrier());
  });
}

TEST_P(Reshape, WhoIsStuckIsNamed) {
  std::mutex mutex;
  std::string line;
  log::to(log::Level::warning, [&](log::Level, std::string_view text) {
    const std::lock_guard lock(mutex);
    if (text.starts_with("operation stuck")) line = text;
  });
  LocalRanks ranks(GetParam(), 3,
                   [](CommunicatorOptions& options) { options.manners.patience = 300ms; });
  std::atomic<bool> is_named = false;
  ranks.run([&](Rank rank, Communicator& all) {
    if (rank == 2) {
      is_named.wait(false);
      ASSERT_TRUE(all.barrier());
      return;
    }
    std::thread watcher([&] {
      if (rank != 0) return;
      const TimePoint limit = system_clock().now() + 15s;
      bool is_known = false;
      bool is_logged = false;
      while (!(is_known && is_logged) && system_clock().now() < limit) {
        is_known = is_known || all.waiting_for() == std::vector<Rank>{2};
        const std::lock_guard lock(mutex);
        is_logged = line.find("waits for 2") != std::string::npos;
      }
      EXPECT_TRUE(is_known);
      EXPECT_TRUE(is_logged);
      is_named = true;
      is_named.notify_all();
    });
    ASSERT_TRUE(all.barrier());
    watcher.join();
    EXPECT_TRUE(all.waiting_for().empty());
  });
  log::to(log::Level::off, nullptr);
}

TEST_P(Reshape, ADeadlineEndsAnOperationOnEveryRankThatIsInIt) {
  LocalRanks ranks(GetParam(), 3,
                   [](CommunicatorOptions& options) { options.manners.deadline = 200ms; });
  ranks.run([&](Rank rank, Communicator& all) {
    if (rank == 2) return;
    const auto done = all.barrier();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::timeout) << done.error().describe();
  });
  EXPECT_FALSE(ranks[2].barrier());
}

}  // namespace
}  // namespace muster::tests
