#include "muster/loop/timers.h"

#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace muster::loop {
namespace {

TimePoint at(int ticks) { return TimePoint(Duration(ticks)); }

TEST(Timers, RunInTheOrderTheyAreDue) {
  Timers timers;
  std::string order;
  Timer a([&] { order += 'a'; });
  Timer b([&] { order += 'b'; });
  Timer c([&] { order += 'c'; });
  timers.start(c, at(3));
  timers.start(a, at(1));
  timers.start(b, at(2));
  EXPECT_FALSE(timers.run(at(0)));
  EXPECT_TRUE(timers.run(at(2)));
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(timers.next(), at(3));
}

TEST(Timers, AnActionMayStopAndRestartOthersThatAreDueToo) {
  Timers timers;
  std::string order;
  Timer b([&] { order += 'b'; });
  Timer c([&] { order += 'c'; });
  Timer a([&] {
    order += 'a';
    timers.stop(b);
    timers.start(c, at(9));
  });
  timers.start(a, at(1));
  timers.start(b, at(1));
  timers.start(c, at(2));
  timers.run(at(5));
  EXPECT_EQ(order, "a");
  timers.run(at(9));
  EXPECT_EQ(order, "ac");
}

TEST(Timers, WhatAnActionStartsForNowWaitsForTheNextRun) {
  Timers timers;
  int runs = 0;
  std::unique_ptr<Timer> self;
  self = std::make_unique<Timer>([&] {
    ++runs;
    timers.start(*self, at(1));
  });
  timers.start(*self, at(1));
  timers.run(at(1));
  EXPECT_EQ(runs, 1);
}

TEST(Timers, ARunInsideAnActionLosesNoneOfThoseThatAreDue) {
  Timers timers;
  std::string order;
  Timer a([&] {
    order += 'a';
    timers.run(at(3));
    order += '.';
  });
  Timer b([&] { order += 'b'; });
  Timer c([&] { order += 'c'; });
  Timer d([&] { order += 'd'; });
  timers.start(a, at(1));
  timers.start(b, at(1));
  timers.start(c, at(2));
  timers.start(d, at(3));

  timers.run(at(2));

  EXPECT_EQ(order, "abcd.");
  for (const Timer* timer : {&a, &b, &c, &d}) EXPECT_FALSE(timer->is_armed());
  timers.start(b, at(4));
  timers.run(at(4));
  EXPECT_EQ(order, "abcd.b");
}

TEST(Timers, ADestroyedTimerIsNotRun) {
  Timers timers;
  bool ran = false;
  {
    Timer timer([&] { ran = true; });
    timers.start(timer, at(1));
  }
  timers.run(at(2));
  EXPECT_FALSE(ran);
}

TEST(Timers, KeepOrderThroughRandomStartsAndStops) {
  std::mt19937 random(7);
  Timers timers;
  std::vector<std::unique_ptr<Timer>> all;
  TimePoint last = at(0);
  bool ordered = true;
  for (int i = 0; i < 300; ++i) {
    all.push_back(std::make_unique<Timer>([&, i] {
      ordered = ordered && all[i]->due() >= last;
      last = all[i]->due();
    }));
  }
  for (int step = 0; step < 3000; ++step) {
    Timer& timer = *all[random() % all.size()];
    if (random() % 3 == 0) {
      timers.stop(timer);
    } else {
      timers.start(timer, at(static_cast<int>(random() % 1000) + 1));
    }
  }
  timers.run(at(2000));
  EXPECT_TRUE(ordered);
  EXPECT_EQ(timers.next(), kForever);
}

}  // namespace
}  // namespace muster::loop
