// Who serves has shorter slices of the processor, and its own ones back.

#include "muster/loop/slice.h"

#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "muster/loop/loop.h"

namespace muster::loop {
namespace {

using std::chrono::microseconds;

// What the kernel says of the calling thread, read here once more. Where it knows no
// slices it says 0, and nothing may change.
struct Scheduling {
  std::uint32_t size = sizeof(Scheduling);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t slice = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;

  static Scheduling now() {
    Scheduling said;
    EXPECT_EQ(syscall(SYS_sched_getattr, 0, &said, sizeof said, 0), 0);
    return said;
  }
};

// A thread of its own, since what it does to itself would stay.
template <class Body>
void in_a_thread(const Body& body) {
  std::thread(body).join();
}

TEST(Slice, IsHalvedAndGivenBackWithAllElseAsItWas) {
  in_a_thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3), 0);
    const Scheduling before = Scheduling::now();
    Slice slice;
    slice.halve();
    slice.halve();
    EXPECT_EQ(slice.is_halved(), before.slice != 0);
    EXPECT_EQ(Scheduling::now().slice, before.slice / 2);
    EXPECT_EQ(Scheduling::now().nice, 3);
    slice.restore();
    slice.restore();
    EXPECT_FALSE(slice.is_halved());
    EXPECT_EQ(Scheduling::now().slice, before.slice);
    EXPECT_EQ(Scheduling::now().nice, 3);
  });
}

TEST(Slice, OfOneScheduledByOtherRulesIsLeftAlone) {
  in_a_thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    const Scheduling before = Scheduling::now();
    Slice slice;
    slice.halve();
    EXPECT_FALSE(slice.is_halved());
    EXPECT_EQ(Scheduling::now().slice, before.slice);
  });
}

// What was sent last has found its receivers awake, or not. Never has anything itself.
struct Peers final : Poller {
  bool are_awake;
  explicit Peers(bool awake) : are_awake(awake) {}
  bool poll() override { return false; }
  Outlook outlook() override { return Outlook::none; }
  bool has_woken_nobody() const override { return are_awake; }
  bool arm() override { return false; }
  void disarm() override {}
};

void sleep_once(Loop& loop) {
  EXPECT_FALSE(loop.wait_until([] { return false; }, loop.now() + microseconds(800)));
}

// Sleeps so often that it is taken for what it is.
void sleep_long_and_often(Loop& loop) {
  for (int i = 0; i < 12; ++i) sleep_once(loop);
}

// Until it has such a slice: on a busy machine a sleep may be over before it begins.
void sleep_until_slice(Loop& loop, std::uint64_t slice) {
  for (int i = 0; i < 1000 && Scheduling::now().slice != slice; ++i) sleep_once(loop);
  EXPECT_EQ(Scheduling::now().slice, slice);
}

TEST(Slice, IsGivenBackWithTheLoop) {
  in_a_thread([] {
    const std::uint64_t usual = Scheduling::now().slice;
    auto loop = *Loop::make();
    Peers peers(true);
    {
      const Turn turn(*loop);
      loop->add(peers);
    }
    sleep_until_slice(*loop, usual / 2);
    loop.reset();
    EXPECT_EQ(Scheduling::now().slice, usual);
  });
}

// By how much the slice of a thread that waits has changed in the end.
double part_of_slice(Loop& loop, Peers& peers) {
  {
    const Turn turn(loop);
    loop.add(peers);
  }
  double part = 1;
  in_a_thread([&] {
    const std::uint64_t usual = Scheduling::now().slice;
    sleep_long_and_often(loop);
    if (usual != 0) part = static_cast<double>(Scheduling::now().slice) / usual;
  });
  const Turn turn(loop);
  loop.remove(peers);
  return part;
}

TEST(Slice, OfAThreadThatServesIsHalved) {
  auto loop = *Loop::make();
  Peers awake(true);
  {
    const Turn turn(*loop);
    loop->add(awake);
  }
  in_a_thread([&] { sleep_until_slice(*loop, Scheduling::now().slice / 2); });
  const Turn turn(*loop);
  loop->remove(awake);
}

TEST(Slice, OfAThreadThatWakesOthersStaysAsItIs) {
  auto loop = *Loop::make();
  Peers asleep(false);
  EXPECT_EQ(part_of_slice(*loop, asleep), 1);
}

TEST(Slice, StaysAsItIsWhereTheCallerSaysSo) {
  auto loop = *Loop::make({.short_slices = false});
  Peers awake(true);
  EXPECT_EQ(part_of_slice(*loop, awake), 1);
}

TEST(Slice, IsGivenBackByOneWhoServesNoMore) {
  auto loop = *Loop::make();
  Peers peers(true);
  {
    const Turn turn(*loop);
    loop->add(peers);
  }
  in_a_thread([&] {
    const std::uint64_t usual = Scheduling::now().slice;
    sleep_until_slice(*loop, usual / 2);
    peers.are_awake = false;
    sleep_until_slice(*loop, usual);
  });
  const Turn turn(*loop);
  loop->remove(peers);
}

}  // namespace
}  // namespace muster::loop
