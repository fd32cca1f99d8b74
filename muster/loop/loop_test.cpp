#include "muster/loop/loop.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/loop/future.h"

namespace muster::loop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<Loop> make_loop(LoopOptions options = {}) { return *Loop::make(options); }

TEST(Loop, APostedTaskRunsAtOnceWhileAnotherThreadWaits) {
  auto loop = make_loop();
  bool seen = false;
  std::thread poster([&] { loop->post([&] { seen = true; }); });
  EXPECT_TRUE(loop->wait_until([&] { return seen; }, loop->now() + seconds(10)));
  poster.join();
}

TEST(Loop, AWaitEndsAtItsDeadline) {
  auto loop = make_loop();
  EXPECT_FALSE(loop->wait_until([] { return false; }, loop->now() + milliseconds(5)));
}

TEST(Loop, TimersRunWhileAThreadWaits) {
  auto loop = make_loop({.keeper = false});
  bool rang = false;
  Timer timer([&] { rang = true; });
  {
    const Turn turn(*loop);
    loop->start(timer, loop->now() + milliseconds(3));
  }
  EXPECT_TRUE(loop->wait_until([&] { return rang; }, loop->now() + seconds(10)));
}

TEST(Loop, ATimerSetByAnotherThreadWakesTheSleeperInTime) {
  auto loop = make_loop({.keeper = false});
  bool rang = false;
  Timer timer([&] { rang = true; });
  std::thread setter([&] {
    const Turn turn(*loop);
    loop->start(timer, loop->now() + milliseconds(20));
  });
  EXPECT_TRUE(loop->wait_until([&] { return rang; }, loop->now() + seconds(10)));
  setter.join();
}

TEST(Loop, TheKeeperRunsTimersWhileNoThreadWaits) {
  auto loop = make_loop();
  Promise<int> promise(*loop);
  Future<int> future = promise.future();
  std::atomic<bool> rang = false;
  Timer timer([&] {
    rang = true;
    rang.notify_all();
  });
  {
    const Turn turn(*loop);
    loop->start(timer, loop->now() + milliseconds(5));
  }
  rang.wait(false);  // Not through the loop: this thread is "busy".
  EXPECT_TRUE(rang);
  const Turn turn(*loop);
}

struct CountReady final : FdHandler {
  int count = 0;
  void on_ready(std::uint32_t) override { ++count; }
};

TEST(Loop, CallsTheHandlerOfAReadyDescriptor) {
  auto loop = make_loop();
  const int fd = eventfd(0, EFD_CLOEXEC);
  CountReady handler;
  {
    const Turn turn(*loop);
    ASSERT_TRUE(loop->watch(fd, EPOLLIN | EPOLLET, handler));
  }
  std::thread writer([&] { eventfd_write(fd, 1); });
  EXPECT_TRUE(loop->wait_until([&] { return handler.count > 0; }, loop->now() + seconds(10)));
  writer.join();
  const Turn turn(*loop);
  loop->unwatch(fd);
  close(fd);
}

TEST(Loop, ManyThreadsWaitAtOnceAndEachIsWoken) {
  auto loop = make_loop();
  std::array<bool, 8> flags{};
  std::vector<std::thread> threads;
  std::atomic<int> woken = 0;
  for (bool& flag : flags) {
    threads.emplace_back([&] {
      if (loop->wait_until([&] { return flag; }, loop->now() + seconds(20))) ++woken;
    });
  }
  for (bool& flag : flags) loop->post([&] { flag = true; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, 8);
}

// Two threads hand a token to and fro through the loop, while a third keeps
// coming and going: every hand-over, park and change of leader there is.
TEST(Loop, HandsATokenBetweenThreadsManyThousandTimes) {
  auto loop = make_loop();
  constexpr int kRounds = 20'000;
  int turn_of = 0;
  const auto play = [&](int me, int other) {
    for (int round = 0; round < kRounds; ++round) {
      ASSERT_TRUE(loop->wait_until([&] { return turn_of == me; }, loop->now() + seconds(60)));
      const Turn turn(*loop);
      turn_of = other;
    }
  };
  std::atomic<bool> stop = false;
  std::thread passer([&] {
    while (!stop)
      loop->wait_until([] { return false; }, loop->now() + std::chrono::microseconds(200));
  });
  std::thread first(play, 0, 1);
  std::thread second(play, 1, 0);
  first.join();
  second.join();
  stop = true;
  passer.join();
}

// Rings its own descriptor, each time by way of the flusher, until it has done so
// often enough.
class Chain final : FdHandler, Flusher {
 public:
  Chain(Loop& loop, void (Loop::*leave)(Flusher&)) : loop_(loop), leave_(leave) {
    const Turn turn(loop_);
    EXPECT_TRUE(loop_.watch(bell_, EPOLLIN, *this));
    eventfd_write(bell_, 1);
  }
  ~Chain() {
    const Turn turn(loop_);
    loop_.unwatch(bell_);
    close(bell_);
  }

  // No thread drives meanwhile but the keeper.
  Duration time() {
    const TimePoint start = loop_.now();
    rung_.wait(false);
    return loop_.now() - start;
  }

 private:
  void on_ready(std::uint32_t) override {
    eventfd_t count = 0;
    eventfd_read(bell_, &count);
    (loop_.*leave_)(*this);
  }
  void flush() override {
    if (--left_ > 0) eventfd_write(bell_, 1);
    if (left_ != 0) return;
    rung_ = true;
    rung_.notify_one();
  }

  Loop& loop_;
  void (Loop::*leave_)(Flusher&);
  const int bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int left_ = 3000;
  std::atomic<bool> rung_ = false;
};

// It once went to look after what was left for soon from a distance, though it
// had left that itself: large bodies then went out in steps of 50 us.
TEST(Loop, TheKeeperDoesAtOnceWhatItLeftForSoonItself) {
  auto loop = make_loop();
  const Duration at_once = Chain(*loop, &Loop::flush_later).time();
  const Duration soon = Chain(*loop, &Loop::flush_soon).time();
  EXPECT_LT(soon, 5 * at_once + milliseconds(20));
}

// Counts how often it was flushed.
struct CountFlushes final : Flusher {
  std::atomic<int> count = 0;
  void flush() override {
    ++count;
    count.notify_all();
  }
};

TEST(Loop, TheKeeperDoesWhatWasLeftForSoonThoughMoreIsLeftAllTheTime) {
  auto loop = make_loop();
  CountFlushes first;
  CountFlushes others;
  {
    const Turn turn(*loop);
    loop->flush_soon(first);
  }
  // The keeper finds something new at every glance.
  const TimePoint limit = loop->now() + seconds(10);
  while (first.count == 0 && loop->now() < limit) {
    const Turn turn(*loop);
    loop->take_back(others);
    loop->flush_soon(others);
  }
  EXPECT_EQ(first.count, 1);
  const Turn turn(*loop);
  loop->forget(others);
}

TEST(Loop, WhatIsTakenBackIsNotDone) {
  auto loop = make_loop();
  CountFlushes taken_back;
  CountFlushes left;
  {
    const Turn turn(*loop);
    loop->flush_soon(taken_back);
    loop->flush_soon(left);
    loop->take_back(taken_back);
    loop->take_back(taken_back);
  }
  left.count.wait(0);
  EXPECT_EQ(taken_back.count, 0);
  {
    const Turn turn(*loop);
    loop->flush_soon(taken_back);
  }
  taken_back.count.wait(0);
  EXPECT_EQ(taken_back.count, 1);
}

TEST(Loop, TheKeeperTakesOverFromAThreadThatHasLongWaitedAgainAndAgain) {
  auto loop = make_loop();
  const TimePoint limit = loop->now() + milliseconds(30);
  while (loop->now() < limit) loop->wait_until([] { return false; }, loop->now() + milliseconds(1));
  CountFlushes left;
  Timer timer([&] { left.flush(); });
  {
    const Turn turn(*loop);
    loop->start(timer, loop->now() + milliseconds(1));
  }
  left.count.wait(0);  // Not through the loop: this thread is "busy".
}

// Counts who looks.
struct CountLooks final : Poller {
  std::thread::id user = std::this_thread::get_id();
  int by_user = 0;
  int by_keeper = 0;
  bool poll() override {
    ++(std::this_thread::get_id() == user ? by_user : by_keeper);
    return false;
  }
  Outlook outlook() override { return Outlook::none; }
  bool arm() override { return false; }
  void disarm() override {}
};

TEST(Loop, TheKeeperStaysAwayFromAThreadThatAlwaysFindsWhatItWaitsFor) {
  constexpr milliseconds kPatience(50);
  LoopOptions options;
  options.keeper_patience = kPatience;
  auto loop = *Loop::make(options);
  CountLooks looks;
  // From the keeper, which drives until somebody else does.
  loop->wait_until([] { return false; }, loop->now() + milliseconds(1));
  {
    const Turn turn(*loop);
    loop->add(looks);
  }
  Duration longest_gap{};
  const TimePoint start = loop->now();
  for (TimePoint last = start; last < start + 3 * kPatience;) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(loop->wait_until([] { return true; }));
    const TimePoint moment = loop->now();
    longest_gap = std::max<Duration>(longest_gap, moment - std::exchange(last, moment));
  }
  const Turn turn(*loop);
  loop->remove(looks);
  EXPECT_GT(looks.by_user, 0);
  // Unless the machine kept this thread from running for so long.
  if (longest_gap < kPatience / 2) {
    EXPECT_EQ(looks.by_keeper, 0);
  }
}

// Finds work in each of its looks, and counts the keeper's visits among them.
struct Endless final : Poller {
  Endless(Loop& the_loop, Duration the_patience)
      : loop(the_loop), patience(the_patience), begun(the_loop.now()), last(begun) {}
  Loop& loop;
  const Duration patience;
  const TimePoint begun;
  TimePoint last;
  Duration longest_gap{};
  std::uint64_t before = 0;
  bool poll() override {
    const TimePoint moment = loop.now();
    longest_gap = std::max<Duration>(longest_gap, moment - std::exchange(last, moment));
    // A visit may have been under way when it began.
    if (moment < begun + patience / 4) before = loop.keeper_visits();
    return true;
  }
  bool is_over() const { return last >= begun + 5 * patience; }
  Outlook outlook() override { return Outlook::none; }
  bool arm() override { return true; }
  void disarm() override {}
};

// It would have to be let in each time, and takes a processor to wait for that.
TEST(Loop, TheKeeperLeavesAThreadAloneThatWorksThroughOneLongWait) {
  constexpr milliseconds kPatience(40);
  LoopOptions options;
  options.keeper_patience = kPatience;
  auto loop = *Loop::make(options);
  // From the keeper, which drives until somebody else does.
  loop->wait_until([] { return false; }, loop->now() + milliseconds(1));
  Endless work(*loop, kPatience);
  {
    const Turn turn(*loop);
    loop->add(work);
  }
  EXPECT_TRUE(loop->wait_until([&] { return work.is_over(); }));
  const Turn turn(*loop);
  loop->remove(work);
  // Unless the machine kept this thread from running for so long.
  if (work.longest_gap < kPatience / 2) {
    EXPECT_EQ(loop->keeper_visits(), work.before);
  }
}

#ifndef NDEBUG
TEST(LoopDeathTest, ATimerIsTouchedUnderTheBatonOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto loop = make_loop({.keeper = false});
  Timer timer([] {});
  EXPECT_DEATH(loop->start(timer, loop->now()), "baton");
}
#endif

}  // namespace
}  // namespace muster::loop
