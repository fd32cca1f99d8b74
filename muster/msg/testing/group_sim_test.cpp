// Whole groups under virtual time: crashes, returns, partitions and registry
// outages by a seed. A seed that fails is played again, which gives the very same
// run, and its transcript is printed; MUSTER_SEED=N plays that one alone, MUSTER_SEEDS=N
// so many.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "muster/msg/testing/drama.h"

namespace muster::msg {
namespace {

using testing::Drama;

// Sanitizers take several times as long and look for other things.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 300;
#else
constexpr std::uint64_t kSeeds = 2000;
#endif
constexpr std::uint64_t kShares = 20;  // So that no one test takes long.

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

void print_transcript(std::uint64_t seed) {
  Drama drama(seed, true);
  drama.play();
  for (const std::string& line : drama.group.net.transcript()) std::printf("%s\n", line.c_str());
}

class GroupSim : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Share, GroupSim, ::testing::Range(std::uint64_t{0}, kShares));

TEST_P(GroupSim, HoldsItsPromisesUnderRandomFaults) {
  const auto chosen = number_in("MUSTER_SEED");
  const std::uint64_t first = chosen.value_or(GetParam());
  const std::uint64_t end = chosen ? first + 1 : number_in("MUSTER_SEEDS").value_or(kSeeds);
  for (std::uint64_t seed = first; seed < end; seed += kShares) {
    Drama(seed, false).play();
    if (!::testing::Test::HasFailure()) continue;
    print_transcript(seed);
    FAIL() << "seed " << seed;
  }
}

TEST(GroupSimReplay, GivesTheSameRunAgain) {
  const auto digest = [](std::uint64_t seed) {
    Drama drama(seed, false);
    drama.play();
    return drama.group.net.digest();
  };
  EXPECT_EQ(digest(7), digest(7));
  EXPECT_NE(digest(7), digest(8));
}

}  // namespace
}  // namespace muster::msg
