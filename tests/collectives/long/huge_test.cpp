// Operations over more than 4 GiB: offsets and counts beyond 32 bits.

#include <algorithm>
#include <fstream>
#include <functional>
#include <span>

#include <gtest/gtest.h>

#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

constexpr std::uint64_t kBlock = (std::uint64_t{2} << 30) + 6173;
constexpr std::uint64_t kCount = 2 * kBlock;

std::uint64_t free_gibibytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes >> 20;
  }
  return 0;
}

// Differs between any two places that are a power of two apart, as where segments have changed
// places, or an offset has lost its high bits.
std::uint8_t number_at(std::uint64_t place, Rank rank) {
  return static_cast<std::uint8_t>(place * 31 + (place >> 8) * 11 + (place >> 16) * 13 +
                                   (place >> 24) * 17 + (place >> 32) * 7 + rank * 5);
}

class FourGibibytes : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Over, FourGibibytes, ::testing::Values(Way::shm, Way::staged, Way::tcp),
                         [](const auto& one) { return name(one.param); });

using Numbers = std::vector<std::uint8_t>;

// What all ranks have: numbers that tell whose they are, in `numbers` from `from` on.
void fill(Numbers& numbers, Rank rank, std::uint64_t from = 0, std::uint64_t count = kCount) {
  for (std::uint64_t i = from; i < from + count; ++i) numbers[i] = number_at(i, rank);
}

template <class Wanted>
void expect(const Numbers& numbers, Wanted wanted, std::uint64_t from = 0,
            std::uint64_t count = kCount) {
  for (std::uint64_t i = from; i < from + count; ++i) ASSERT_EQ(numbers[i], wanted(i)) << i;
}

std::span<std::uint8_t> block(Numbers& numbers, Rank rank) {
  return std::span<std::uint8_t>(numbers).subspan(rank * kBlock, kBlock);
}

// Two ranks and one buffer each: all in place, but for what is moved aside.
using Body = std::function<Result<Outcome>(Rank, Communicator&, Numbers&)>;
void run(Way way, const Body& body) {
  ASSERT_GE(free_gibibytes(), 18U) << "this needs 18 GiB of memory";
  LocalRanks ranks(way, 2, [](CommunicatorOptions& options) {
    options.manners.deadline = std::chrono::minutes(5);
  });
  ranks.run([&](Rank rank, Communicator& all) {
    Numbers numbers(kCount);
    const auto done = body(rank, all, numbers);
    ASSERT_TRUE(done) << done.error().describe();
  });
}

std::uint8_t larger_at(std::uint64_t i) { return std::max(number_at(i, 0), number_at(i, 1)); }

TEST_P(FourGibibytes, AreReduced) {
  run(GetParam(), [](Rank rank, Communicator& all, Numbers& numbers) {
    fill(numbers, rank);
    auto done = all.all_reduce(numbers, numbers, Reduction::max);
    expect(numbers, larger_at);
    fill(numbers, rank);
    if (done) {
      const Output result = rank == 1 ? Output(numbers) : Output(std::span<std::uint8_t>());
      done = all.reduce(numbers, result, Reduction::max, 1);
    }
    if (rank == 1) expect(numbers, larger_at);
    return done;
  });
}

TEST_P(FourGibibytes, AreReducedAndScattered) {
  run(GetParam(), [](Rank rank, Communicator& all, Numbers& numbers) {
    fill(numbers, rank);
    auto done = all.reduce_scatter(numbers, block(numbers, rank), Reduction::max);
    expect(numbers, larger_at, rank * kBlock, kBlock);
    return done;
  });
}

TEST_P(FourGibibytes, AreBroadcast) {
  run(GetParam(), [](Rank rank, Communicator& all, Numbers& numbers) {
    fill(numbers, rank);
    auto done = all.broadcast(numbers, 1);
    expect(numbers, [](std::uint64_t i) { return number_at(i, 1); });
    return done;
  });
}

TEST_P(FourGibibytes, AreScatteredAndGathered) {
  run(GetParam(), [](Rank rank, Communicator& all, Numbers& numbers) {
    fill(numbers, rank);
    const bool is_root = rank == 0;
    const Input whole = is_root ? Input(numbers) : Input(std::span<const std::uint8_t>());
    auto done = all.scatter(whole, block(numbers, rank), 0);
    expect(numbers, [](std::uint64_t i) { return number_at(i, 0); }, rank * kBlock, kBlock);
    fill(numbers, rank);
    if (done) {
      const Output result = is_root ? Output(numbers) : Output(std::span<std::uint8_t>());
      done = all.gather(block(numbers, rank), result, 0);
    }
    if (is_root) {
      expect(numbers, [](std::uint64_t i) { return number_at(i, i < kBlock ? 0 : 1); });
    }
    return done;
  });
}

TEST_P(FourGibibytes, AreGatheredByAll) {
  run(GetParam(), [](Rank rank, Communicator& all, Numbers& numbers) {
    fill(numbers, rank, rank * kBlock, kBlock);
    auto done = all.all_gather(block(numbers, rank), numbers);
    expect(numbers, [](std::uint64_t i) { return number_at(i, i < kBlock ? 0 : 1); });
    return done;
  });
}

TEST_P(FourGibibytes, ChangePlaces) {
  run(GetParam(), [](Rank rank, Communicator& all, Numbers& numbers) {
    fill(numbers, rank);
    auto done = all.all_to_all(numbers, numbers);
    expect(numbers, [&](std::uint64_t i) {
      const Rank from = i < kBlock ? 0 : 1;
      return number_at(i % kBlock + rank * kBlock, from);
    });
    return done;
  });
}

}  // namespace
}  // namespace muster::tests
