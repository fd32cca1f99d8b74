#include "tests/process/computing.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/loop/loop.h"
#include "tests/process/child.h"

namespace muster::tests {
namespace {

using loop::Loop;
using loop::Timer;
using loop::Turn;
using std::chrono::milliseconds;

TimePoint now() { return system_clock().now(); }

class Listener final : public loop::FdHandler {
 public:
  explicit Listener(Heard& heard) : heard_(heard) {}
  std::atomic<TimePoint> written_at{};

  void on_ready(std::uint32_t) override {
    ++heard_.events;
    heard_.longest_delay = std::max(heard_.longest_delay, now() - written_at.load());
  }

 private:
  Heard& heard_;
};

}  // namespace

Heard compute_for(Duration time) {
  auto loop = *Loop::make();
  Heard heard;
  TimePoint last_tick = now();
  Timer timer([&] {
    ++heard.ticks;
    heard.longest_gap = std::max(heard.longest_gap, now() - std::exchange(last_tick, now()));
    loop->start(timer, now() + milliseconds(10));
  });
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Listener listener(heard);
  {
    const Turn turn(*loop);
    loop->start(timer, now() + milliseconds(10));
    EXPECT_TRUE(loop->watch(fd, EPOLLIN | EPOLLET, listener));
  }
  const TimePoint end = now() + time;
  std::thread writer([&] {
    while (now() < end) {
      listener.written_at = now();
      eventfd_write(fd, 1);
      let_pass(milliseconds(10));
    }
  });
  // It has driven the loop until now, so that all rests on the hand-over.
  loop->wait_until([] { return false; }, now() + milliseconds(1));
  while (now() < end) {
  }
  writer.join();
  const Turn turn(*loop);
  loop->stop(timer);
  loop->unwatch(fd);
  close(fd);
  return heard;
}

void expect_heard(const Heard& heard, Duration time) {
  EXPECT_LT(heard.longest_gap, milliseconds(100));
  EXPECT_LT(heard.longest_delay, milliseconds(100));
  EXPECT_GT(heard.ticks, time / milliseconds(50));
  EXPECT_GT(heard.events, time / milliseconds(50));
}

}  // namespace muster::tests
