#include "benchmarks/common/message.h"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

Message stamped(std::uint64_t number) {
  Message message{};
  stamp(message, number);
  return message;
}

TEST(Expected, AcceptsMessagesInOrderUntilTheStop) {
  Expected expected;

  EXPECT_TRUE(expected.accept(stamped(0)));
  EXPECT_TRUE(expected.accept(stamped(1)));
  EXPECT_FALSE(expected.accept(stamped(kStop)));
  EXPECT_EQ(expected.accepted(), 2U);
}

TEST(ExpectedDeathTest, EndsTheProgramWhenAMessageIsLost) {
  Expected expected;

  EXPECT_EXIT(expected.accept(stamped(1)), testing::ExitedWithCode(1), "out of order");
}

TEST(ExpectedDeathTest, EndsTheProgramForOneWrongBitInAnyWord) {
  for (std::size_t word = 0; word < 8; ++word) {
    Expected expected;
    Message message = stamped(0);
    message.words[word] ^= 1U << 20U;

    EXPECT_EXIT(expected.accept(message), testing::ExitedWithCode(1), "damaged");
  }
}

}  // namespace
}  // namespace muster::bench
