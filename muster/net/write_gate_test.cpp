#include "muster/net/write_gate.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

using std::chrono::microseconds;

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(WriteGate, WritesAtOnceAfterQuiet) {
  WriteGate gate;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(gate.may_write(kStart + i * WriteGate::kQuiet));
    EXPECT_FALSE(gate.is_holding());
  }
}

TEST(WriteGate, HoldsBackWhatFollowsQuickly) {
  WriteGate gate;
  EXPECT_TRUE(gate.may_write(kStart));
  for (int i = 1; i <= WriteGate::kFree; ++i) EXPECT_TRUE(gate.may_write(kStart + microseconds(i)));

  EXPECT_FALSE(gate.may_write(kStart + microseconds(WriteGate::kFree + 1)));
  EXPECT_TRUE(gate.is_holding());
}

// A gate in the middle of a quick run, and the moment.
std::pair<WriteGate, TimePoint> in_a_run() {
  WriteGate gate;
  TimePoint now = kStart;
  while (gate.may_write(now)) now += microseconds(1);
  return {gate, now};
}

TEST(WriteGate, GoesOnHoldingAfterABatchWasWritten) {
  auto [gate, now] = in_a_run();

  now += microseconds(90);  // A batch takes longer than quiet to come together.
  gate.release(now);

  EXPECT_FALSE(gate.is_holding());
  EXPECT_FALSE(gate.may_write(now + microseconds(1)));
}

TEST(WriteGate, WritesAtOnceWhenQuietFollowsTheLastBatch) {
  auto [gate, now] = in_a_run();

  gate.release(now);

  EXPECT_TRUE(gate.may_write(now + WriteGate::kQuiet));
}

TEST(WriteGate, NeverHoldsBackOneWhoAnswersWhatIsRead) {
  WriteGate gate;
  for (int i = 0; i < 100; ++i) {
    gate.was_read();
    EXPECT_TRUE(gate.may_write(kStart + microseconds(i)));
  }
}

TEST(WriteGate, AnAnswerNeedsNoLookAtTheClockButWhatFollowsItDoes) {
  WriteGate gate;
  EXPECT_FALSE(gate.answers());

  gate.was_read();

  EXPECT_TRUE(gate.answers());
  EXPECT_FALSE(gate.answers());
}

}  // namespace
}  // namespace muster::net
