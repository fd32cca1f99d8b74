// Links between two proxies under virtual time: who dials, and which of two links stays.

#include <array>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/three.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::events;
using testing::has;
using testing::Kind;
using testing::kNow;
using testing::SimGroup;

TEST(Links, MeetOneWhomNobodyCanDialButWhoCanDial) {
  // Whichever of the two ids is the lower, and so dials first.
  for (int round = 0; round < 8; ++round) {
    SimGroup other({.seed = static_cast<std::uint64_t>(round)});
    other.net.block_dials("master", "worker_1",
                          round % 2 == 0 ? net::testing::Dials::hang : net::testing::Dials::fail);
    other.add("master");
    other.add("worker_1");
    ASSERT_TRUE(other.settle()) << round;
    other.net.break_connections("master", "worker_1");
    ASSERT_TRUE(other.run_until(
        [&] { return other["master"].peer("worker_1")->presence != Presence::here; }));
    ASSERT_TRUE(other.settle()) << round;
  }
}

// Both dial at the same moment, and both links come up.
TEST(Links, KeepTheOneOfTwoLinksThatBothHave) {
  for (int round = 0; round < 50; ++round) {
    SimGroup other({.seed = static_cast<std::uint64_t>(round)});
    other.net.part("master", "worker_1");
    other.add("master");
    other.add("worker_1");
    other.net.run_for(milliseconds(2000));  // Long enough that the second dials, too.
    other.net.join("master", "worker_1");
    ASSERT_TRUE(other.settle()) << round;
    other.net.run_for(seconds(10));
    for (const char* name : {"master", "worker_1"}) {
      EXPECT_FALSE(has(events(other[name]), Kind::link_broke)) << round;
    }
  }
}

// Two who tell each other numbers, and look that none comes late.
struct Counting {
  void step() {
    for (const int side : {0, 1}) {
      Proxy& proxy = group[names[side]];
      Draft note{.tag = "n", .destination = names[1 - side], .body = ++last_said[side]};
      note.session_type = SessionType::notification;
      static_cast<void>(proxy.isend(note));
      for (;;) {
        const auto taken = proxy.receive_once(kNow);
        if (!taken || !*taken) break;
        const std::int64_t number = *(*taken)->body().as_integer();
        EXPECT_GT(number, last_heard[side]) << "out of order";
        last_heard[side] = number;
      }
    }
  }

  SimGroup group;
  const std::array<std::string, 2> names = {"a", "b"};
  std::array<std::int64_t, 2> last_said{};
  std::array<std::int64_t, 2> last_heard{};
};

// Frames take so long that both dial, and that what was said on one link comes when the
// next one stands.
TEST(Links, KeepOrderHoweverTheyComeAndGo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Counting two{.group = SimGroup({.seed = seed, .max_delay = milliseconds(400)})};
    for (const std::string& name : two.names) two.group.add(name);
    ASSERT_TRUE(two.group.settle()) << seed;
    for (int i = 0; i < 400; ++i) {
      two.group.net.run_for(milliseconds(25));
      two.step();
      if (two.group.net.chance() % 50 == 0) two.group.net.break_connections("a", "b");
    }
    ASSERT_TRUE(two.group.settle()) << seed;
    EXPECT_GT(two.last_heard[0], 100) << seed;
    ASSERT_FALSE(::testing::Test::HasFailure()) << seed;
  }
}

}  // namespace
}  // namespace muster::msg
