#include <gtest/gtest.h>

#include "muster/base/id.h"
#include "tests/turmoil/turmoil.h"

namespace muster::tests {
namespace {

TEST(LongTurmoil, AMillionMessagesOfEightAreAccountedForThoughTheyAreKilledAndStopped) {
  expect_all_accounted_for(
      {.time = std::chrono::seconds(60), .numbers = 17'858, .seed = random_bits()});
}

}  // namespace
}  // namespace muster::tests
