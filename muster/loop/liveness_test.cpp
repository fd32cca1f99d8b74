// Nobody waits longer than it must: each case once was, or would be, a thread that
// sleeps on, or one that cannot get out.

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "muster/loop/doorbell.h"
#include "muster/loop/loop.h"

namespace muster::loop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<Loop> make_loop(LoopOptions options = {}) { return *Loop::make(options); }

// A flag that can be waited for without driving the loop under test.
class Signal {
 public:
  void set() {
    if (word_.exchange(1) == 0) futex_wake(word_, INT32_MAX);
  }
  bool wait(Duration patience = seconds(5)) {
    const TimePoint deadline = system_clock().now() + patience;
    while (word_.load() == 0 && system_clock().now() < deadline) {
      futex_wait(word_, 0, deadline - system_clock().now());
    }
    return word_.load() != 0;
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

// A ring in shared memory, made of one counter. Never worth a spin, so that
// who waits for it sleeps.
class FakeRing final : public Poller {
 public:
  explicit FakeRing(const Loop& loop) : loop_(loop) {}

  // Any thread.
  void produce() {
    published_.fetch_add(1);
    if (bell_.must_ring()) eventfd_write(loop_.wake_descriptor(), 1);
  }

  int seen() const { return seen_; }
  Signal armed;
  Signal polled;
  std::atomic<bool> is_flooded = false;  // Always more to do.

  bool poll() override {
    polled.set();
    const int published = published_.load();
    return std::exchange(seen_, published) != published || is_flooded;
  }
  Outlook outlook() override { return Outlook::none; }
  bool arm() override {
    bell_.arm();
    armed.set();
    return published_.load() != seen_ || is_flooded;
  }
  void disarm() override { bell_.disarm(); }

 private:
  const Loop& loop_;
  Doorbell bell_;
  std::atomic<int> published_ = 0;
  int seen_ = 0;
};

void add(Loop& loop, Poller& poller) {
  const Turn turn(loop);
  loop.add(poller);
}

// Until the thread that armed `ring` sleeps: it gives up the baton on its way.
void let_it_sleep(Loop& loop, FakeRing& ring) {
  ASSERT_TRUE(ring.armed.wait());
  const Turn turn(loop);
}

// A wait that ends because it was woken, not because its deadline came.
template <class Done>
void expect_woken(Loop& loop, Done done) {
  const TimePoint deadline = loop.now() + seconds(5);
  loop.wait_until(done, deadline);
  EXPECT_LT(loop.now(), deadline) << "slept past what it waited for";
}

// Long enough for the keeper to see that nobody drives, and to park.
void let_the_keeper_park() {
  Signal never;
  never.wait(milliseconds(20));
}

TEST(Liveness, ATimerSetAfterAWaitWithAnEarlierDeadlineIsMet) {
  auto loop = make_loop();
  Signal rang;
  Timer timer([&] { rang.set(); });
  for (int round = 0; round < 5; ++round) {
    let_the_keeper_park();
    bool is_seen = false;
    std::thread poster([&] { loop->post([&] { is_seen = true; }); });
    loop->wait_until([&] { return is_seen; }, loop->now() + milliseconds(5));
    poster.join();

    Signal due;
    Timer later([&] { due.set(); });
    {
      const Turn turn(*loop);
      loop->start(later, loop->now() + milliseconds(30));
    }

    ASSERT_TRUE(due.wait()) << "in round " << round;
    const Turn turn(*loop);
  }
}

TEST(Liveness, AThreadThatComesGetsInWhileTheDriverIsAlwaysBusy) {
  auto loop = make_loop({.keeper = false});
  FakeRing ring(*loop);
  ring.is_flooded = true;
  add(*loop, ring);
  bool is_over = false;
  std::thread driver([&] { loop->wait_until([&] { return is_over; }); });
  ASSERT_TRUE(ring.polled.wait());

  for (int visit = 0; visit < 100; ++visit) {
    const Turn turn(*loop);
    is_over = visit == 99;
  }

  driver.join();
}

TEST(Liveness, AWaitEndsAtItsDeadlineWhileTheLoopIsAlwaysBusy) {
  auto loop = make_loop({.keeper = false});
  FakeRing ring(*loop);
  ring.is_flooded = true;
  add(*loop, ring);

  EXPECT_FALSE(loop->wait_until([] { return false; }, loop->now() + milliseconds(5)));
}

TEST(Liveness, AUsersThreadTakesOverFromAKeeperThatIsAlwaysBusy) {
  auto loop = make_loop();
  FakeRing ring(*loop);
  add(*loop, ring);
  let_the_keeper_park();
  ring.is_flooded = true;
  ring.produce();

  EXPECT_FALSE(loop->wait_until([] { return false; }, loop->now() + milliseconds(20)));
  ring.is_flooded = false;
}

TEST(Liveness, APollerAddedWhileAThreadSleepsIsHeard) {
  auto loop = make_loop({.keeper = false});
  FakeRing first(*loop);
  FakeRing second(*loop);
  add(*loop, first);
  std::thread sleeper([&] { expect_woken(*loop, [&] { return second.seen() > 0; }); });
  let_it_sleep(*loop, first);

  add(*loop, second);
  second.produce();

  sleeper.join();
}

TEST(Liveness, ASleeperHearsOfWorkAfterAnotherThreadTookItsRing) {
  auto loop = make_loop({.keeper = false});
  for (int round = 0; round < 20; ++round) {
    FakeRing ring(*loop);
    add(*loop, ring);
    std::thread sleeper([&] { expect_woken(*loop, [&] { return ring.seen() >= 2; }); });
    let_it_sleep(*loop, ring);

    ring.produce();
    loop->run_ready();
    ring.produce();

    sleeper.join();
    const Turn turn(*loop);
    loop->remove(ring);
  }
}

TEST(Liveness, AVisitorIsNotKeptByWorkThatNeverEnds) {
  auto loop = make_loop({.keeper = false});
  FakeRing ring(*loop);
  FakeRing second(*loop);
  add(*loop, ring);
  bool is_over = false;
  std::thread sleeper([&] { expect_woken(*loop, [&] { return is_over; }); });
  let_it_sleep(*loop, ring);

  ring.is_flooded = true;
  add(*loop, second);  // Who sleeps must be armed anew, which finds more work each time.

  ring.is_flooded = false;
  loop->post([&] { is_over = true; });
  sleeper.join();
}

TEST(Liveness, AThreadThatAlwaysFindsWhatItWaitsForStillMovesTheRest) {
  auto loop = make_loop({.keeper = false});
  const int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  struct Reader final : FdHandler {
    bool is_ready = false;
    void on_ready(std::uint32_t) override { is_ready = true; }
  } reader;
  bool rang = false;
  Timer timer([&] { rang = true; });
  {
    const Turn turn(*loop);
    loop->start(timer, loop->now());
    ASSERT_TRUE(loop->watch(fd, EPOLLIN | EPOLLET, reader));
  }

  for (int wait = 0; wait < 1000; ++wait) EXPECT_TRUE(loop->wait_until([] { return true; }));

  EXPECT_TRUE(rang);
  EXPECT_TRUE(reader.is_ready);
  const Turn turn(*loop);
  loop->unwatch(fd);
  close(fd);
}

TEST(Liveness, AWaitWithoutPatienceStillLooks) {
  auto loop = make_loop({.keeper = false});
  FakeRing ring(*loop);
  add(*loop, ring);
  ring.produce();

  EXPECT_TRUE(loop->wait_until([&] { return ring.seen() == 1; }, loop->now()));
}

TEST(Liveness, PostingToAnotherLoopKeepsTheBatonOfTheFirst) {
  auto first = make_loop();
  auto second = make_loop();
  int runs = 0;
  {
    const Turn turn(*first);
    second->post([&] {
      const Turn again(*first);
      ++runs;
    });
    EXPECT_TRUE(first->is_held());
    EXPECT_FALSE(second->is_held());
  }
  EXPECT_FALSE(first->is_held());
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace muster::loop
