// How long a thread stays awake before it sleeps, and what it is taken for then.

#include <chrono>

#include <gtest/gtest.h>

#include "muster/loop/service.h"
#include "muster/loop/spin_budget.h"
#include "muster/loop/yield_budget.h"

namespace muster::loop {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kLongest = std::chrono::microseconds(30);

TEST(SpinBudget, GivesUpSoonWhenSpinsFail) {
  SpinBudget budget(kLongest);
  int spins = 0;
  for (int i = 0; i < 100; ++i) {
    const bool spun = budget.next() > Duration::zero();
    spins += spun ? 1 : 0;
    budget.ended_asleep(std::chrono::milliseconds(1), spun);
  }
  EXPECT_LE(spins, 6);
}

TEST(SpinBudget, ProbesNowAndThenWhereWaitsAreShort) {
  SpinBudget budget(kLongest);
  int spins = 0;
  for (int i = 0; i < 800; ++i) {
    const bool spun = budget.next() > Duration::zero();
    spins += spun ? 1 : 0;
    budget.ended_asleep(std::chrono::microseconds(40), spun);
  }
  EXPECT_GT(spins, 50);
  EXPECT_LT(spins, 150);
}

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(YieldBudget, GoesOnWhileYieldsComeBackSoon) {
  YieldBudget budget;
  EXPECT_TRUE(budget.may_yield(kStart));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(budget.goes_on_after(microseconds(200), kStart + microseconds(200 * i)));
  }
  EXPECT_TRUE(budget.may_yield(kStart + milliseconds(200)));
}

// A yield costs a time slice at `now`. How long until the next may be tried?
Duration pause_after_slice(YieldBudget& budget, TimePoint now) {
  EXPECT_FALSE(budget.goes_on_after(milliseconds(4), now));
  Duration pause{};
  while (!budget.may_yield(now + pause)) pause += milliseconds(1);
  return pause;
}

TEST(YieldBudget, TriesEverMoreRarelyBesideOneWhoComputes) {
  YieldBudget budget;
  TimePoint now = kStart;
  Duration last{};
  for (int i = 0; i < 5; ++i) {
    const Duration pause = pause_after_slice(budget, now);
    EXPECT_GT(pause, last);
    EXPECT_GE(pause, milliseconds(50)) << "or the slices lost would be more than a tenth";
    last = pause;
    now += pause;
  }
  EXPECT_LE(pause_after_slice(budget, now), std::chrono::seconds(1))
      << "who computes may end one day";
}

TEST(YieldBudget, ForgivesOnceYieldsComeBackSoonForLong) {
  YieldBudget budget;
  const Duration first = pause_after_slice(budget, kStart);
  pause_after_slice(budget, kStart + first);
  EXPECT_EQ(pause_after_slice(budget, kStart + std::chrono::seconds(10)), first);
}

TEST(SpinBudget, TrustsASpinThatPays) {
  SpinBudget budget(kLongest);
  for (int i = 0; i < 10; ++i) budget.ended_asleep(std::chrono::milliseconds(1), true);
  EXPECT_EQ(budget.next(), Duration::zero());
  budget.ended_awake();
  EXPECT_EQ(budget.next(), kLongest);
}

// So many sleeps, each of so long and before a message that woke nobody.
void serve(Service& service, int times, Duration sleep = milliseconds(1)) {
  for (int i = 0; i < times; ++i) {
    service.will_sleep(true);
    service.has_slept(sleep);
  }
}

TEST(Service, IsWhatLasts) {
  Service service;
  serve(service, 4);
  EXPECT_FALSE(service.serves()) << "once or twice tells nothing";
  serve(service, 10);
  EXPECT_TRUE(service.serves());
}

TEST(Service, EndsWithTheFirstMessageThatWokeSomebody) {
  Service service;
  serve(service, 20);
  service.will_sleep(false);
  EXPECT_FALSE(service.serves());
}

TEST(Service, IsNotSeenInWhoIsWokenAllTheTime) {
  Service service;
  serve(service, 100, microseconds(40));
  EXPECT_FALSE(service.serves());
  serve(service, 20);
  serve(service, 1, microseconds(40));
  EXPECT_FALSE(service.serves()) << "others want its processor as well";
}

}  // namespace
}  // namespace muster::loop
