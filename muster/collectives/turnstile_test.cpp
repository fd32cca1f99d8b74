#include "muster/collectives/turnstile.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster::collectives::internal {
namespace {

TEST(Turnstile, TheFirstNeedNotWait) {
  Turnstile turnstile;

  const Turnstile::Ticket first = turnstile.take();

  EXPECT_TRUE(turnstile.is_turn_of(first));
  turnstile.wait_for(first);
}

TEST(Turnstile, TurnsComeInTheOrderOfTheTickets) {
  Turnstile turnstile;
  const Turnstile::Ticket first = turnstile.take();
  const Turnstile::Ticket second = turnstile.take();
  const Turnstile::Ticket third = turnstile.take();

  turnstile.leave();
  EXPECT_FALSE(turnstile.is_turn_of(first));
  EXPECT_TRUE(turnstile.is_turn_of(second));
  EXPECT_FALSE(turnstile.is_turn_of(third));

  turnstile.leave();
  EXPECT_TRUE(turnstile.is_turn_of(third));
}

TEST(Turnstile, WhoComesWhenAllHaveLeftNeedNotWait) {
  Turnstile turnstile;
  turnstile.wait_for(turnstile.take());
  turnstile.leave();

  EXPECT_TRUE(turnstile.is_turn_of(turnstile.take()));
}

TEST(Turnstile, SleepersAreWokenInTheirOrder) {
  constexpr std::size_t kThreads = 4;
  Turnstile turnstile;
  const Turnstile::Ticket mine = turnstile.take();
  std::vector<Turnstile::Ticket> came;  // Guarded by the turnstile.
  std::vector<Turnstile::Ticket> tickets;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) tickets.push_back(turnstile.take());

  // The last one asks first.
  for (std::size_t i = kThreads; i-- > 0;) {
    threads.emplace_back([&, ticket = tickets[i]] {
      turnstile.wait_for(ticket);
      came.push_back(ticket);
      turnstile.leave();
    });
  }
  EXPECT_TRUE(turnstile.is_turn_of(mine));
  turnstile.leave();
  threads.clear();

  EXPECT_EQ(came, tickets);
}

TEST(Turnstile, OneAtATimeIsInside) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 2000;
  Turnstile turnstile;
  int passed = 0;  // Guarded by the turnstile.
  std::atomic<int> inside{0};
  std::atomic<bool> was_crowded{false};
  std::vector<std::jthread> threads;

  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        turnstile.wait_for(turnstile.take());
        if (inside.fetch_add(1) != 0) was_crowded = true;
        ++passed;
        inside.fetch_sub(1);
        turnstile.leave();
      }
    });
  }
  threads.clear();

  EXPECT_FALSE(was_crowded);
  EXPECT_EQ(passed, kThreads * kTimes);
}

}  // namespace
}  // namespace muster::collectives::internal
