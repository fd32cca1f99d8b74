#include "muster/loop/loop.h"

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

TEST(Future, GivesWhatThePromiseSets) {
  auto loop = make_loop();
  Promise<int> promise(*loop);
  Future<int> future = promise.future();
  EXPECT_EQ(future.get(loop->now()).error().code(), Code::timeout);
  std::thread setter([&] { promise.set(7); });
  EXPECT_EQ(*future.get(), 7);
  setter.join();
  EXPECT_EQ(future.get().error().code(), Code::invalid);
}

TEST(Future, ADroppedPromiseIsACancelledFuture) {
  auto loop = make_loop();
  Future<int> future = Promise<int>(*loop).future();
  EXPECT_EQ(future.get().error().code(), Code::cancelled);
}

TEST(Future, CallsItsContinuationOnce) {
  auto loop = make_loop();
  Promise<int> promise(*loop);
  int seen = 0;
  promise.future().then([&](Result<int> result) { seen += *result; });
  promise.set(5);
  EXPECT_EQ(seen, 5);
}

}  // namespace
}  // namespace muster::loop
