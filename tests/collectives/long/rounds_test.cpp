// The rounds of death_test.cpp, 500 of them, and 200 of elastic ones over links.

#include <gtest/gtest.h>

#include "tests/collectives/adders.h"

namespace muster::tests {
namespace {

// So many processes at a time that several can run beside each other.
class FiveHundredRounds : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(InTens, FiveHundredRounds, ::testing::Range(0U, 50U));

TEST_P(FiveHundredRounds, OfFourToEightProcessesEndWellForTheSurvivors) {
  for (unsigned seed = 1000 + GetParam() * 10; seed < 1010 + GetParam() * 10; ++seed) {
    play_round(seed);
    if (HasFailure()) return;
  }
}

class TwoHundredElasticRounds : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(InTens, TwoHundredElasticRounds, ::testing::Range(0U, 20U));

TEST_P(TwoHundredElasticRounds, OverLinksEndWellForTheSurvivors) {
  for (unsigned seed = 2000 + GetParam() * 10; seed < 2010 + GetParam() * 10; ++seed) {
    play_round(seed, Rounds::elastic_over_links);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster::tests
