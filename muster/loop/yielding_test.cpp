// What a thread sees that lets others have its processor before it sleeps.

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"

namespace muster::loop {
namespace {

using std::chrono::microseconds;

// Does something at one of its looks, without having found anything.
class ActsAtALook final : public Poller {
 public:
  ActsAtALook(Outlook outlook, int when, std::function<void()> what)
      : outlook_(outlook), when_(when), act_(std::move(what)) {}

  int looks() const { return looks_; }
  int sleeps() const { return sleeps_; }

  bool poll() override {
    if (++looks_ == when_) act_();
    return false;
  }
  Outlook outlook() override { return outlook_; }
  bool arm() override {
    ++sleeps_;
    return false;
  }
  void disarm() override {}

 private:
  const Outlook outlook_;
  const int when_;
  const std::function<void()> act_;
  int looks_ = 0;
  int sleeps_ = 0;
};

// A loop that polls one thing and waits until `done`.
void wait_with(Loop& loop, Poller& source, const std::function<bool()>& done) {
  {
    const Turn turn(loop);
    loop.add(source);
  }
  EXPECT_TRUE(loop.wait_until(done));
  const Turn turn(loop);
  loop.remove(source);
}

class RemembersAnEvent final : public FdHandler {
 public:
  bool has_come() const { return has_come_; }
  void on_ready(std::uint32_t) override { has_come_ = true; }

 private:
  bool has_come_ = false;
};

// How often it slept until it saw that a descriptor is ready.
int sleeps_before_event(Outlook outlook, int look) {
  const ManualClock clock;  // No yield takes long, however busy the machine is.
  auto loop = *Loop::make({.clock = &clock, .keeper = false});
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  RemembersAnEvent handler;
  {
    const Turn turn(*loop);
    EXPECT_TRUE(loop->watch(event, EPOLLIN, handler));
  }
  ActsAtALook source(outlook, look, [&] { eventfd_write(event, 1); });
  wait_with(*loop, source, [&] { return handler.has_come(); });
  const Turn turn(*loop);
  loop->unwatch(event);
  close(event);
  return source.sleeps();
}

TEST(Yielding, OnlyWhoWaitsForSocketsAsksTheSystem) {
  EXPECT_EQ(sleeps_before_event(Outlook::sockets, 5), 0);
  EXPECT_EQ(sleeps_before_event(Outlook::sockets, 40), 0);
  EXPECT_EQ(sleeps_before_event(Outlook::relayed, 120), 0);
  EXPECT_GT(sleeps_before_event(Outlook::several, 5), 0);
}

TEST(Yielding, EndsWhenSomebodyElseHasBroughtWhatItWaitsFor) {
  const ManualClock clock;  // No yield takes long, however busy the machine is.
  auto loop = *Loop::make({.clock = &clock, .keeper = false});
  bool is_there = false;
  ActsAtALook source(Outlook::several, 5, [&] { is_there = true; });
  wait_with(*loop, source, [&] { return is_there; });
  EXPECT_EQ(source.looks(), 5);
}

class Flushed final : public Flusher {
 public:
  bool has_come = false;
  void flush() override { has_come = true; }
};

TEST(Spinning, DoesWhatSomebodyElseHasLeftForSoonBeforeItSleeps) {
  auto loop = *Loop::make({.keeper = false});
  Flushed left;
  ActsAtALook source(Outlook::soon, 5, [&] { loop->flush_soon(left); });
  {
    const Turn turn(*loop);
    loop->add(source);
  }

  EXPECT_TRUE(
      loop->wait_until([&] { return left.has_come; }, loop->now() + std::chrono::seconds(5)));

  const Turn turn(*loop);
  loop->remove(source);
  EXPECT_EQ(source.sleeps(), 0);
}

TEST(Yielding, EndsWhenATimerIsDue) {
  ManualClock clock;
  auto loop = *Loop::make({.clock = &clock, .keeper = false});
  bool has_rung = false;
  Timer timer([&] { has_rung = true; });
  {
    const Turn turn(*loop);
    loop->start(timer, clock.now() + microseconds(400));
  }
  ActsAtALook source(Outlook::several, 5, [&] { clock.advance(microseconds(500)); });
  wait_with(*loop, source, [&] { return has_rung; });
  EXPECT_LE(source.looks(), 7);
}

// Has something at the look that it is told, and tells whether anybody slept before.
struct ComesLater final : Poller {
  const Outlook says;
  const int comes_at;
  int looks = 0;
  int sleeps = 0;
  ComesLater(Outlook outlook, int look) : says(outlook), comes_at(look) {}
  bool has_come() const { return looks >= comes_at; }
  bool poll() override { return ++looks == comes_at; }
  Outlook outlook() override { return says; }
  // Nobody rings: who sleeps is told at once that there is something to look for.
  bool arm() override { return ++sleeps > 0; }
  void disarm() override {}
};

int sleeps_before(Outlook says, int comes_at) {
  const ManualClock clock;  // No yield takes long, however busy the machine is.
  auto loop = *Loop::make({.clock = &clock, .keeper = false});
  ComesLater source(says, comes_at);
  {
    const Turn turn(*loop);
    loop->add(source);
  }
  EXPECT_TRUE(loop->wait_until([&] { return source.has_come(); }));
  const Turn turn(*loop);
  loop->remove(source);
  return source.sleeps;
}

TEST(Yielding, ThreadsThatShareAProcessorLetTheirPeersHaveItBeforeTheySleep) {
  EXPECT_EQ(sleeps_before(Outlook::one, 3), 0);
  EXPECT_EQ(sleeps_before(Outlook::several, 30), 0);
  EXPECT_GT(sleeps_before(Outlook::one, 30), 0) << "one peer needs longer";
  EXPECT_GT(sleeps_before(Outlook::none, 3), 0);
}

}  // namespace
}  // namespace muster::loop
