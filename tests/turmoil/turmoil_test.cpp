#include "tests/turmoil/turmoil.h"

#include <gtest/gtest.h>

#include "muster/base/id.h"

namespace muster::tests {
namespace {

TEST(Turmoil, EveryMessageOfEightIsAccountedForThoughTheyAreKilledAndStopped) {
  expect_all_accounted_for(
      {.time = std::chrono::seconds(8), .numbers = 1000, .seed = random_bits()});
}

}  // namespace
}  // namespace muster::tests
