// Operations over more than 4 GiB: offsets and counts beyond 32 bits.

#include <fstream>

#include <gtest/gtest.h>

#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

constexpr std::uint64_t kCount = (std::uint64_t{4} << 30) + 12345;

std::uint64_t free_gibibytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes >> 20;
  }
  return 0;
}

// Differs from place to place, also where only the high bits of the place do.
std::uint8_t number_at(std::uint64_t place, Rank rank) {
  return static_cast<std::uint8_t>(place * 31 + (place >> 32) * 7 + rank * 5);
}

class FourGibibytes : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Over, FourGibibytes, ::testing::Values(Way::shm, Way::staged, Way::tcp),
                         [](const auto& one) { return name(one.param); });

TEST_P(FourGibibytes, AreReducedAsAWhole) {
  if (free_gibibytes() < 12) GTEST_SKIP() << "this needs 12 GiB of memory";
  LocalRanks ranks(GetParam(), 2, [](CommunicatorOptions& options) {
    options.manners.deadline = std::chrono::minutes(5);
  });
  ranks.run([&](Rank rank, Communicator& all) {
    std::vector<std::uint8_t> numbers(kCount);
    for (std::uint64_t i = 0; i < kCount; ++i) numbers[i] = number_at(i, rank);
    const auto done = all.all_reduce(numbers, numbers, Reduction::max);
    ASSERT_TRUE(done) << done.error().describe();
    for (std::uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(numbers[i], std::max(number_at(i, 0), number_at(i, 1))) << i;
    }
    const auto sent = all.broadcast(numbers, 1);
    ASSERT_TRUE(sent) << sent.error().describe();
    ASSERT_EQ(numbers[kCount - 1], std::max(number_at(kCount - 1, 0), number_at(kCount - 1, 1)));
  });
}

}  // namespace
}  // namespace muster::tests
