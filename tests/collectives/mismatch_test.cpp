// Ranks that call, or are, something else than the others: all are told, and nobody gets numbers.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

class Mismatched : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OverEachWay, Mismatched,
                         ::testing::Values(Way::inproc, Way::shm, Way::tcp, Way::staged),
                         [](const auto& one) { return name(one.param); });

using Call = std::function<Result<Outcome>(Communicator&)>;

// The call itself ends so on every rank that has to look at another one's, and on others a later
// one; with words that name both.
void expect_named(LocalRanks& ranks, const Call& most, const Call& of_rank_1,
                  const std::string& one, const std::string& other) {
  ranks.run([&](Rank rank, Communicator& all) {
    auto done = rank == 1 ? of_rank_1(all) : most(all);
    for (int more = 0; done && more < 10; ++more) done = most(all);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::invalid) << done.error().describe();
    for (const std::string& named : {one, other}) {
      EXPECT_NE(done.error().message().find(named), std::string::npos) << done.error().describe();
    }
  });
}

// A few lie on the desks, many are read where they are.
constexpr std::size_t kFewAndMany[] = {3, 20'000};

template <class T>
Call summing(std::size_t count, Reduction::Kind kind = Reduction::Kind::sum) {
  return [count, kind](Communicator& all) {
    std::vector<T> numbers(count, T{1});
    return all.all_reduce(numbers, numbers, Reduction(kind));
  };
}

TEST_P(Mismatched, NumbersOfAnotherTypeAreNamed) {
  for (const std::size_t count : kFewAndMany) {
    LocalRanks ranks(GetParam(), 3);
    const std::string many = std::to_string(count);
    expect_named(ranks, summing<float>(count), summing<std::int32_t>(count), many + " x f32",
                 many + " x i32");
  }
}

TEST_P(Mismatched, AnotherReductionIsNamed) {
  for (const std::size_t count : kFewAndMany) {
    LocalRanks ranks(GetParam(), 3);
    expect_named(ranks, summing<float>(count), summing<float>(count, Reduction::Kind::max),
                 "f32, sum", "f32, max");
  }
}

TEST_P(Mismatched, RanksWithOtherMannersAreNamed) {
  struct Manner {
    bool Manners::* which;
    std::string has;
    std::string lacks;
  };
  const Manner manners[] = {
      {&Manners::reproducible, "in the order of the ranks", "in any order"},
      {&Manners::elastic, "elastic", "not elastic"},
  };
  for (const Manner& manner : manners) {
    for (const std::size_t count : kFewAndMany) {
      LocalRanks ranks(GetParam(), 3, [&](CommunicatorOptions& options) {
        options.manners.*manner.which = options.rank == 1;
      });
      expect_named(ranks, summing<float>(count), summing<float>(count), manner.has, manner.lacks);
    }
  }
}

}  // namespace
}  // namespace muster::tests
