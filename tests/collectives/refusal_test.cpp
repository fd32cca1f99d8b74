// Calls and messages that are refused on one rank: it says why, and nobody waits for it.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "muster/base/check.h"
#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

// More than a link takes in one message. Nobody may look at it.
constexpr std::size_t kTooMuch = std::size_t{17} << 30;

class Unreadable {
 public:
  explicit Unreadable(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    MUSTER_CHECK(data_ != MAP_FAILED, "there are addresses enough");
  }
  ~Unreadable() { munmap(data_, bytes_); }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;

  std::span<std::uint8_t> bytes() const { return {static_cast<std::uint8_t*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

void expect_refused(const Error& error) {
  EXPECT_EQ(error.code(), Code::invalid) << error.describe();
  EXPECT_NE(error.message().find("takes at most"), std::string::npos) << error.describe();
}

class TooLarge : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OverLinks, TooLarge, ::testing::Values(Way::inproc, Way::tcp),
                         [](const auto& one) { return name(one.param); });

TEST_P(TooLarge, ABlockFailsTheOperationOnEveryRank) {
  LocalRanks ranks(GetParam(), 2);
  const Unreadable all_of_it(2 * kTooMuch);
  const Unreadable others(kTooMuch);
  ranks.run([&](Rank rank, Communicator& all) {
    const auto own = rank == 0 ? all_of_it.bytes().first(kTooMuch) : others.bytes();
    const auto done = all.scatter(all_of_it.bytes(), own, 0);
    ASSERT_FALSE(done);
    expect_refused(done.error());
    auto again = all.shrink(20s);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_TRUE((*again)->barrier());
  });
}

TEST_P(TooLarge, ASharedBufferFailsTheOperationOnEveryRank) {
  LocalRanks ranks(GetParam(), 2);
  const Unreadable memory(kTooMuch);
  ranks.run([&](Rank rank, Communicator& all) {
    const Buffer mine = rank == 0 ? Buffer(std::as_bytes(memory.bytes()), nullptr) : Buffer();
    const auto shared = all.share(mine, 0);
    ASSERT_FALSE(shared);
    expect_refused(shared.error());
  });
}

TEST_P(TooLarge, AMessageIsRefusedBeforeItIsCopiedAndNothingElseSuffers) {
  LocalRanks ranks(GetParam(), 2);
  const Unreadable memory(kTooMuch);
  ranks.run([&](Rank rank, Communicator& all) {
    if (rank == 0) {
      const auto sent = all.send(memory.bytes(), 1);
      ASSERT_FALSE(sent);
      expect_refused(sent.error());
    }
    EXPECT_TRUE(all.barrier());
  });
}

using Call = std::function<Result<Outcome>(Communicator&)>;
struct Pair {
  std::string name;
  Call wrong;                   // What rank 1 calls,
  Call right;                   // and the others.
  bool is_of_the_root = false;  // Elsewhere the wrong one is right too.
};

template <class T>
Result<Outcome> outcome_of(const Result<T>& result) {
  return result ? Result<Outcome>(Outcome{}) : Result<Outcome>(result.error());
}

std::vector<Pair> pairs(std::size_t count) {
  const auto sum = [=](std::size_t results) -> Call {
    return [=](Communicator& all) {
      const std::vector<float> mine(count);
      std::vector<float> result(results);
      return all.all_reduce(mine, result, Reduction::sum);
    };
  };
  const auto later = [=](std::size_t results) -> Call {
    return [=](Communicator& all) {
      const std::vector<float> mine(count);
      std::vector<float> result(results);
      return all.iall_reduce(mine, result, Reduction::sum).get();
    };
  };
  const auto broadcast = [=](Rank root) -> Call {
    return [=](Communicator& all) {
      std::vector<float> data(count);
      return all.broadcast(data, root);
    };
  };
  const auto gather = [=](std::size_t results) -> Call {
    return [=](Communicator& all) {
      std::vector<float> whole(all.rank() == 1 ? results : 0);
      return all.gather(std::vector<float>(count), whole, 1);
    };
  };
  const auto scatter = [=](const void* at) -> Call {
    return [=](Communicator& all) {
      std::vector<float> mine(count);
      std::vector<float> whole(3 * count);
      const Input input(at == nullptr ? at : whole.data(), whole.size(), Element::f32);
      return all.scatter(input, mine, 1);
    };
  };
  const auto gather_all = [=](std::uint64_t ranks) -> Call {
    return [=](Communicator& all) {
      std::vector<float> whole(3 * count);
      const std::vector<std::uint64_t> counts(ranks, count);
      return all.all_gather_v(std::vector<float>(count), whole, counts);
    };
  };
  const auto shifted_sum = [=](std::size_t by) -> Call {
    return [=](Communicator& all) {
      std::vector<float> memory(2 * count);
      const std::span<float> both(memory);
      return all.all_reduce(both.first(count), both.subspan(by, count), Reduction::sum);
    };
  };
  const auto gather_shifted = [=](Rank by) -> Call {
    return [=](Communicator& all) {
      std::vector<float> whole(3 * count);
      const Rank block = (all.rank() + by) % 3;
      return all.all_gather(std::span<float>(whole).subspan(block * count, count), whole);
    };
  };
  const auto share = [](Rank root) -> Call {
    return [=](Communicator& all) { return outcome_of(all.share(Buffer::copy_of("x"), root)); };
  };
  const auto grow = [](Rank size) -> Call {
    return [=](Communicator& all) { return outcome_of(all.grow(size)); };
  };
  return {{"Count", sum(count + 1), sum(count)},
          {"CountOfAFuture", later(count + 1), later(count)},
          {"Root", broadcast(99), broadcast(0)},
          {"RootThatIsItself", broadcast(3), broadcast(1)},
          {"ResultOfTheRoot", gather(2 * count), gather(3 * count), true},
          {"InputOfTheRoot", scatter(nullptr), scatter(&kTooMuch), true},
          {"NumberOfCounts", gather_all(2), gather_all(3)},
          {"ResultThatOverlapsTheInput", shifted_sum(1), shifted_sum(count)},
          {"InputWhereAnothersBlockIs", gather_shifted(1), gather_shifted(0)},
          {"RootOfABuffer", share(3), share(0)},
          {"SizeToGrowTo", grow(3), grow(4)}};
}

class Refused : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OverEachWay, Refused,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& one) { return name(one.param); });

TEST_P(Refused, ACallOfOneRankFailsOnAllAndNobodyWaitsForIt) {
  for (const std::size_t count : {2UL, 30000UL}) {
    for (const Pair& pair : pairs(count)) {
      SCOPED_TRACE(pair.name + " of " + std::to_string(count));
      LocalRanks ranks(GetParam(), 3);
      ranks.run([&](Rank rank, Communicator& all) {
        auto done = rank == 1 ? pair.wrong(all) : pair.right(all);
        ASSERT_TRUE(rank != 1 || !done);
        if (rank == 1) {
          EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
        }
        // Who was done with its part before hears of it in what follows.
        if (rank == 1) done = all.barrier();
        for (int more = 0; done && more < 10; ++more) done = all.barrier();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
        EXPECT_NE(done.error().message().find("rank 1"), std::string::npos)
            << done.error().describe();
        auto again = all.shrink(20s);
        ASSERT_TRUE(again) << again.error().describe();
        EXPECT_TRUE((*again)->barrier());
      });
      if (HasFailure()) return;
    }
  }
}

TEST_P(Refused, ACallOfAllRanksIsForgotten) {
  for (const bool is_elastic : {false, true}) {
    LocalRanks ranks(GetParam(), 3,
                     [&](CommunicatorOptions& options) { options.manners.elastic = is_elastic; });
    ranks.run([&](Rank rank, Communicator& all) {
      for (int round = 0; round < 3; ++round) {
        for (const Pair& pair : pairs(2)) {
          if (pair.is_of_the_root) continue;
          EXPECT_EQ(pair.wrong(all).error().code(), Code::invalid) << pair.name;
          std::vector<std::int32_t> sum{static_cast<std::int32_t>(rank)};
          const auto done = all.all_reduce(sum, sum, Reduction::sum);
          ASSERT_TRUE(done) << done.error().describe();
          EXPECT_EQ(sum[0], 3);
        }
      }
      ASSERT_TRUE(all.barrier());
    });
  }
}

// Nobody looks at what another one brought; the next call does.
TEST_P(Refused, IsTheNextCallOfRanksThatAllTookThemselvesForTheRoot) {
  for (const bool is_broadcast : {true, false}) {
    LocalRanks ranks(GetParam(), 2);
    ranks.run([&](Rank rank, Communicator& all) {
      std::vector<float> data(3);
      auto done = is_broadcast ? all.broadcast(data, rank)
                               : all.reduce(data, std::span<float>(), Reduction::sum, 1 - rank);
      if (done) done = all.barrier();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
      EXPECT_NE(done.error().message().find("root "), std::string::npos) << done.error().describe();
    });
  }
}

// The root looks at nobody, and soon nothing is left of what it called.
TEST_P(Refused, CallsThatDoNotMatchAreNamedHoweverLateSomebodyLooks) {
  for (const bool is_share : {true, false}) {
    LocalRanks ranks(GetParam(), 2);
    ranks.run([&](Rank rank, Communicator& all) {
      std::vector<float> data(3);
      auto done =
          is_share ? outcome_of(all.share(Buffer::copy_of("x"), rank)) : all.broadcast(data, rank);
      for (int more = 0; done && more < 20; ++more) done = all.broadcast(data, 0);
      if (done) done = all.barrier();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
      EXPECT_NE(done.error().message().find("rank 1"), std::string::npos)
          << done.error().describe();
    });
  }
}

// The others recover from a loss while they are in the call that this rank did not make:
// its next one is not taken for that.
TEST_P(Refused, ACallIsNotMixedUpWithTheNextWhenARankIsLostMeanwhile) {
  LocalRanks ranks(GetParam(), 4, [](CommunicatorOptions& options) {
    options.manners.elastic = true;
    options.manners.deadline = 1s;
  });
  ranks.at(3).reset();
  ranks.run([](Rank rank, Communicator& all) {
    std::vector<std::int32_t> mine{1};
    std::vector<std::int32_t> result(rank == 1 ? 2 : 1);
    const auto done = all.all_reduce(mine, result, Reduction::sum);
    EXPECT_FALSE(done);
    result.resize(1);
    const auto next = all.all_reduce(mine, result, Reduction::sum);
    EXPECT_FALSE(next) << rank;
  });
}

// Its slots are full, as the other has ended nothing.
TEST(ARefusedCall, ThatHasToWaitNamesWhomItWaitsFor) {
  LocalRanks ranks(Way::shm, 2,
                   [](CommunicatorOptions& options) { options.manners.deadline = 200ms; });
  ranks.run([](Rank rank, Communicator& all) {
    if (rank == 1) return;
    std::vector<float> data(3);
    for (int i = 0; i < 6; ++i) EXPECT_FALSE(all.broadcast(data, 99));
    const auto next = all.barrier();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), Code::timeout) << next.error().describe();
    EXPECT_NE(next.error().message().find("rank 1"), std::string::npos) << next.error().describe();
  });
}

TEST(AReduction, ThatIsAUsersWithoutAFunctionIsRefused) {
  LocalRanks ranks(Way::inproc, 2);
  ranks.run([&](Rank, Communicator& all) {
    std::vector<float> ones(10, 1.0F);
    const auto done = all.all_reduce(ones, ones, Reduction(Reduction::Kind::user));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
  });
}

}  // namespace
}  // namespace muster::tests
