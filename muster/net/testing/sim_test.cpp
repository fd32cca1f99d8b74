// The sim driver: the suite under several seeds, its faults, and its replay.

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/sim_rig.h"

namespace muster::net::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Subject sim(std::string name, Sides sides, const SimOptions& options) {
  const auto make_rig = [options](Sides wanted) {
    return std::make_unique<SimRig>(options, wanted);
  };
  return {std::move(name), make_rig, sides};
}

MUSTER_DRIVER_SUITE(Sim, sim("seed_1", Sides::together, {.seed = 1}),
                    sim("seed_2", Sides::apart, {.seed = 2}),
                    sim("wild_delays", Sides::apart, {.seed = 3, .max_delay = milliseconds(50)}),
                    sim("short_queue", Sides::apart,
                        {.seed = 4, .max_frames = 2, .max_bytes = 2048, .max_body = kLargePart}));

// Hosts of a SimNet that listen on HOST/x, and whom they talk to.
class Town {
 public:
  explicit Town(const SimOptions& options) : net(options) {}
  ~Town() {
    const loop::Turn turn(net.loop());
    listeners_.clear();
    ends_.clear();
    drivers_.clear();
  }
  Town(const Town&) = delete;
  Town& operator=(const Town&) = delete;

  void add(const std::string& host) {
    const loop::Turn turn(net.loop());
    drivers_[host].push_back(net.driver(host));
    listeners_.push_back(*drivers_[host].back()->listen(
        {"sim", host + "/x", 0, 0}, [this](std::unique_ptr<Connection> connection) -> Sink& {
          accepted.push_back(&ends_.emplace_back(net.loop()));
          accepted.back()->connection = std::move(connection);
          return *accepted.back();
        }));
  }

  End& dial(const std::string& from, const std::string& to) {
    const loop::Turn turn(net.loop());
    End& end = ends_.emplace_back(net.loop());
    end.connection = *drivers_[from].back()->dial({"sim", to + "/x", 0, 0}, end);
    return end;
  }

  // The two ends of a new connection.
  std::pair<End&, End&> connect(const std::string& from, const std::string& to) {
    const std::size_t before = accepted.size();
    End& end = dial(from, to);
    EXPECT_TRUE(net.run_until([&] { return accepted.size() > before; }));
    return {end, *accepted.back()};
  }

  SimNet net;
  std::vector<End*> accepted;

 private:
  std::map<std::string, std::vector<std::unique_ptr<Driver>>> drivers_;
  std::list<End> ends_;
  std::list<std::unique_ptr<Listener>> listeners_;
};

wire::Frame small(std::uint64_t number) { return make_frame({8, {16}}, number); }

TEST(Sim, ConnectionsOvertakeEachOtherAndFramesDoNot) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  auto [near_1, far_1] = town.connect("a", "b");
  auto [near_2, far_2] = town.connect("a", "b");
  std::string order;
  far_1.take = [&](wire::Frame&) { order += '1'; };
  far_2.take = [&](wire::Frame&) { order += '2'; };

  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(near_1.send(small(i)));
    EXPECT_TRUE(near_2.send(small(i)));
  }
  town.net.run_for(seconds(1));

  EXPECT_EQ(order.size(), 40U);
  std::string in_turn;
  for (int i = 0; i < 20; ++i) in_turn += "12";
  EXPECT_NE(order, in_turn);
}

TEST(Sim, APartitionHoldsBackWhatIsUnderWayUntilItIsOver) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  auto [near, far] = town.connect("a", "b");
  expect_frames(far, [](std::size_t) { return Shape{8, {16}}; }, 0);

  town.net.part("a", "b");
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(near.send(small(i)));
  town.net.run_for(seconds(100));
  EXPECT_EQ(far.frame_count(), 0U);
  EXPECT_FALSE(near.is_closed() || far.is_closed());

  town.net.join("a", "b");
  EXPECT_TRUE(town.net.run_until([&end = far] { return end.frame_count() == 10; }));
}

TEST(Sim, WhoDialsAcrossAPartitionHangsOrFailsAsIsChosen) {
  Town town({.seed = 7, .dial_patience = seconds(3)});
  for (const char* host : {"a", "b", "c"}) town.add(host);
  town.net.part("a", "b", Dials::hang);
  town.net.part("a", "c", Dials::fail);
  const TimePoint start = town.net.now();

  End& hanging = town.dial("a", "b");
  End& failing = town.dial("a", "c");

  EXPECT_TRUE(town.net.run_until([&] { return failing.is_closed(); }));
  EXPECT_LT(town.net.now() - start, milliseconds(100));
  EXPECT_TRUE(town.net.run_until([&] { return hanging.is_closed(); }));
  EXPECT_GE(town.net.now() - start, seconds(3));
  EXPECT_EQ(hanging.closed_with(), Code::unavailable);
}

TEST(Sim, WhoDialsAcrossAPartitionThatEndsInTimeGetsThrough) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  town.net.part("a", "b");
  End& near = town.dial("a", "b");
  EXPECT_TRUE(near.send(small(1)));
  town.net.run_for(seconds(1));

  town.net.join("a", "b");

  EXPECT_TRUE(town.net.run_until(
      [&] { return town.accepted.size() == 1 && town.accepted[0]->frame_count() == 1; }));
}

TEST(Sim, WhoCannotBeDialledCanDial) {
  Town town({.seed = 7, .dial_patience = seconds(3)});
  for (const char* host : {"a", "b", "c"}) town.add(host);
  town.net.block_dials("b", "a", Dials::hang);
  town.net.block_dials("c", "a", Dials::fail);

  End& hanging = town.dial("b", "a");
  End& failing = town.dial("c", "a");

  EXPECT_TRUE(town.net.run_until([&] { return failing.is_closed() && hanging.is_closed(); }));
  EXPECT_TRUE(town.accepted.empty());
  town.connect("a", "b");
  town.net.allow_dials("b", "a");
  town.connect("b", "a");
}

TEST(Sim, ACrashIsToldToOthersAndEndsAllThatTheHostDoes) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  auto [near, far] = town.connect("a", "b");
  EXPECT_TRUE(far.send(small(1)));

  town.net.crash("b");
  EXPECT_TRUE(near.send(small(2)));
  town.net.run_for(seconds(1));

  EXPECT_EQ(near.closed_with(), Code::unavailable);
  EXPECT_EQ(near.frame_count(), 0U) << "nothing is delivered from the dead";
  EXPECT_EQ(far.frame_count() + far.closed_count(), 0U) << "the dead hear nothing";
  End& late = town.dial("a", "b");
  EXPECT_TRUE(town.net.run_until([&] { return late.is_closed(); }));

  town.net.restart("b");
  town.add("b");
  auto [again, there] = town.connect("a", "b");
  EXPECT_TRUE(again.send(small(3)));
  EXPECT_TRUE(town.net.run_until([&end = there] { return end.frame_count() == 1; }));
}

TEST(Sim, AHostThatIsSwitchedOffIsSilentUntilItIsUpAgain) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  End& near = town.connect("a", "b").first;

  town.net.switch_off("b");
  EXPECT_TRUE(near.send(small(1)));
  town.net.run_for(seconds(1000));
  EXPECT_FALSE(near.is_closed());

  town.net.restart("b");
  EXPECT_TRUE(town.net.run_until([&] { return near.is_closed(); }));
  EXPECT_EQ(near.closed_with(), Code::unavailable);
}

TEST(Sim, ALostConnectionEndsAtBothEnds) {
  Town town({.seed = 7, .loss = 0.05});
  town.add("a");
  town.add("b");
  auto [near, far] = town.connect("a", "b");
  Stream stream(near, kEndless, [](std::size_t index) { return small(index); });
  expect_frames(far, [](std::size_t) { return Shape{8, {16}}; }, 0);

  stream.start();

  EXPECT_TRUE(town.net.run_until([&] { return near.is_closed() && far.is_closed(); }));
  EXPECT_EQ(near.closed_with(), Code::unavailable);
  EXPECT_EQ(far.closed_with(), Code::unavailable);
}

TEST(Sim, ASlowReaderSlowsItsSender) {
  Town town({.seed = 7, .max_frames = 8});
  town.add("a");
  town.add("b");
  auto [near, far] = town.connect("a", "b");
  town.net.set_pace("b", milliseconds(10));
  Stream stream(near, 100, [](std::size_t index) { return small(index); });
  const TimePoint start = town.net.now();

  stream.start();

  EXPECT_TRUE(town.net.run_until([&end = far] { return end.frame_count() == 100; }));
  EXPECT_GE(town.net.now() - start, milliseconds(900));
  EXPECT_GT(stream.overloads(), 5);
}

TEST(Sim, TimersOfTheLoopRunInTheirPlace) {
  SimNet net;
  const TimePoint start = net.now();
  std::vector<int> rang;
  loop::Timer late([&] { rang.push_back(2); });
  loop::Timer early([&] { rang.push_back(1); });
  {
    const loop::Turn turn(net.loop());
    net.loop().start(late, start + seconds(20));
    net.loop().start(early, start + seconds(10));
  }

  EXPECT_TRUE(net.run_until([&] { return rang.size() == 2; }));

  EXPECT_EQ(rang, (std::vector<int>{1, 2}));
  EXPECT_EQ(net.now(), start + seconds(20));
}

TEST(Sim, WhatBecomesDueWhileAllAreStoppedHappensAfterwardsTimersFirst) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  auto [near, far] = town.connect("a", "b");
  const TimePoint start = town.net.now();
  std::vector<std::pair<char, TimePoint>> happened;
  const auto note = [&](char what) { happened.emplace_back(what, town.net.now()); };
  far.take = [&](wire::Frame&) { note('f'); };
  loop::Timer timer([&] { note('t'); });
  {
    const loop::Turn turn(town.net.loop());
    town.net.loop().start(timer, start + seconds(10));
  }
  for (std::uint64_t i = 0; i < 2; ++i) EXPECT_TRUE(near.send(small(i)));

  town.net.stall(seconds(20));

  const TimePoint end = start + seconds(20);
  EXPECT_EQ(happened,
            (std::vector<std::pair<char, TimePoint>>{{'t', end}, {'f', end}, {'f', end}}));
  EXPECT_EQ(town.net.now(), end);
}

TEST(Sim, AnEndCountsUntilItIsDestroyed) {
  Town town({.seed = 7});
  town.add("a");
  town.add("b");
  EXPECT_EQ(town.net.open_ends(), 0U);
  auto [near, far] = town.connect("a", "b");
  EXPECT_EQ(town.net.open_ends(), 2U);
  const auto destroy = [&](End& end) {
    const loop::Turn turn(town.net.loop());
    end.connection.reset();
  };

  destroy(near);
  EXPECT_TRUE(town.net.run_until([&end = far] { return end.is_closed(); }));
  EXPECT_EQ(town.net.open_ends(), 1U) << "it has ended and is still there";
  destroy(far);
  EXPECT_EQ(town.net.open_ends(), 0U);
}

// A day in a town where everything happens. Each end checks order by itself.
struct Day {
  std::vector<std::string> transcript;
  std::uint64_t digest = 0;
  std::size_t frames = 0;
};

Day live_through(std::uint64_t seed, bool keeps_transcript) {
  const std::vector<std::string> hosts = {"a", "b", "c", "d", "e", "f"};
  Town town({.seed = seed, .loss = 0.002, .max_frames = 16, .keeps_transcript = keeps_transcript});
  for (const std::string& host : hosts) town.add(host);
  const auto any = [&] { return hosts[town.net.chance() % hosts.size()]; };
  const ShapeOf shape = [](std::size_t index) { return Shape{8, {index % 100}}; };
  std::list<Stream> streams;
  std::size_t listened_to = 0;
  Day day;
  for (int hour = 0; hour < 60; ++hour) {
    switch (town.net.chance() % 8) {
      case 0: town.net.part(any(), any(), Dials::hang); break;
      case 1: town.net.break_connections(any(), any()); break;
      case 2: {
        const std::string host = any();
        if (town.net.chance() % 2 == 0) town.net.switch_off(host);
        town.net.restart(host);
        town.add(host);
        break;
      }
      case 3: town.net.set_reading(any(), town.net.chance() % 2 == 0); break;
      default: streams.emplace_back(town.dial(any(), any()), 200, frames_of(shape, 0)).start();
    }
    for (; listened_to < town.accepted.size(); ++listened_to) {
      expect_frames(*town.accepted[listened_to], shape, 0);
    }
    town.net.run_for(milliseconds(town.net.chance() % 20));
    for (const std::string& host : hosts) town.net.join(any(), host);
  }
  for (const End* end : town.accepted) day.frames += end->frame_count();
  day.transcript = town.net.transcript();
  day.digest = town.net.digest();
  return day;
}

TEST(Sim, TheSameSeedIsTheSameDay) {
  const Day first = live_through(11, true);
  const Day second = live_through(11, true);
  const Day other = live_through(12, true);

  EXPECT_GT(first.frames, 1000U);
  EXPECT_EQ(first.transcript, second.transcript);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_NE(first.transcript, other.transcript);
  EXPECT_EQ(live_through(11, false).digest, first.digest) << "writing it down changes nothing";
}

// Every end complains by itself of what breaks the driver's contract.
TEST(Sim, TheContractHoldsUnderManySeeds) {
  const std::size_t seeds = from_environment("MUSTER_SIM_SEEDS", kIsFast ? 1000 : 100);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    live_through(seed, false);
  }
}

}  // namespace
}  // namespace muster::net::testing
