// Processes: a peer that answers, stops, exits, or is killed at any moment.

#include <algorithm>
#include <csignal>

#include "muster/base/id.h"
#include "muster/net/testing/child_process.h"
#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// How long the end of a process on this host may stay unknown.
constexpr seconds kSoon(1);
// Rounds of killing per subject: three subjects make over 500 of them.
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kKillRounds = 40;  // Each takes several times as long; others do the rest.
#else
constexpr std::size_t kKillRounds = 170;
#endif

// How often it is looked whether all is given back, tens of milliseconds apart.
constexpr int kLooks = 250;

Shape later_page(std::size_t index) { return page_shape(index + 1000); }

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProcessSuite);

std::unique_ptr<ChildProcess> ProcessSuite::start_peer(const std::string& behaviour) {
  auto child = ChildProcess::start("driver_peer", {GetParam().name, behaviour});
  EXPECT_TRUE(child) << child.error().describe();
  return *std::move(child);
}

End& ProcessSuite::dial_peer(ChildProcess& child, const std::function<void(End&)>& prepare) {
  const Result<std::string> address = child.pipe().read_line();
  EXPECT_TRUE(address) << address.error().describe();
  return dial(*Address::parse(*address), prepare);
}

std::unique_ptr<ChildProcess> ProcessSuite::start_caller(const std::string& behaviour, Host& host) {
  auto child =
      ChildProcess::start("driver_peer", {GetParam().name, behaviour, host.address().to_string()});
  EXPECT_TRUE(child) << child.error().describe();
  EXPECT_TRUE((*child)->pipe().read_line());
  return *std::move(child);
}

TEST_P(ProcessSuite, FramesOfAllKindsGoToAnotherProcessAndBack) {
  constexpr std::size_t kCount = 500;
  const auto child = start_peer("echo");
  End& near = dial_peer(*child, [](End& end) { expect_frames(end, mixed_shape, 0); });
  Stream stream(near, kCount, frames_of(mixed_shape, 0));

  stream.start();

  EXPECT_TRUE(run_until([&] { return near.frame_count() == kCount; }))
      << "sent " << stream.sent() << ", got back " << near.frame_count();
  EXPECT_FALSE(near.is_closed());
}

TEST_P(ProcessSuite, BodiesOfEverySizeGoToAnotherProcessAndBack) {
  const auto child = start_peer("echo");
  End& near = dial_peer(*child);
  for (const std::size_t size : sizes_up_to(std::size_t{8} << 20)) carry(near, near, size);
  carry(near, near, std::size_t{100} << 20);
}

TEST_P(ProcessSuite, ThePeerIsKnownByItsProcessWhereTheKernelTells) {
  const auto child = start_peer("echo");
  End& near = dial_peer(*child);
  EXPECT_TRUE(near.send(make_frame({8, {}}, 1)));
  ASSERT_TRUE(run_until([&] { return near.has_frames(); }));

  const loop::Turn turn(near.loop());
  const Peer peer = near.connection->peer();
  EXPECT_TRUE(peer.pid == 0 || peer.pid == child->pid()) << peer.pid;
}

// Where there is no connection yet, in the middle of frames, of bodies, of
// silence: the survivor hears of it once and soon, and loses nothing of its own.
TEST_P(ProcessSuite, APeerThatIsKilledAtAnyMomentIsTheOnlyThingLost) {
  const std::size_t rounds = from_environment("MUSTER_KILL_ROUNDS", kKillRounds);
  // Other choices in each run.
  const std::size_t seed = from_environment("MUSTER_KILL_SEED", random_bits());
  Host& host = listen();
  const Holdings before = look_at_holdings();
  for (std::size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("MUSTER_KILL_SEED=" + std::to_string(seed) + ", round " + std::to_string(round));
    const std::uint64_t chance = scramble(seed + round);
    kill_one_peer(host, chance);
    if (HasFailure()) return;
  }
  // A driver may take a moment to bury what a dead peer could still have touched.
  std::string rest = leaked(before, look_at_holdings());
  for (int look = 0; look < kLooks && !rest.empty(); ++look) {
    rig->settle();
    rest = leaked(before, look_at_holdings());
  }
  EXPECT_EQ(rest, "") << "is not given back";
}

void ProcessSuite::kill_one_peer(Host& host, std::uint64_t chance) {
  const bool is_dialed = chance % 2 == 0;
  const bool is_large = (chance >> 4) % 4 == 0;
  const std::size_t most = is_large ? 6 : 60;  // About the same number of bytes.
  const std::size_t frames = (chance >> 8) % 4 == 0 ? 0 : (chance >> 16) % most;
  const microseconds delay((chance >> 32) % 3000);
  const std::size_t accepted = host.count();
  const std::string behaviour = is_large ? "flood of bodies" : "flood";
  std::unique_ptr<ChildProcess> child =
      is_dialed ? start_peer(behaviour) : start_caller(behaviour, host);
  ASSERT_TRUE(run_until([&] { return is_dialed || host.count() > accepted; }));
  End& near = is_dialed ? dial_peer(*child) : host.end(accepted);
  // Frames that came before anybody looked.
  {
    const loop::Turn turn(near.loop());
    near.frames.clear();
    near.take = [](wire::Frame&) {};
  }
  // Of ordinary memory: what lies in memory of the driver's own it keeps for the next.
  Stream stream(near, kEndless, is_large ? bodies_for(near) : frames_of(mixed_shape, 0));
  stream.start();
  EXPECT_TRUE(run_until([&] { return near.frame_count() >= frames; }))
      << "sent " << stream.sent() << ", got " << near.frame_count();
  bool is_time = false;
  loop::Timer timer([&is_time] { is_time = true; });
  {
    const loop::Turn turn(near.loop());
    near.loop().start(timer, near.loop().now() + delay);
  }
  EXPECT_TRUE(run_until([&] { return is_time; }));
  EXPECT_FALSE(near.is_closed());

  child->signal(SIGKILL);
  const TimePoint killed = near.loop().now();

  EXPECT_TRUE(run_until([&] { return near.is_closed(); }));
  EXPECT_LT(near.loop().now() - killed, kSoon);
  EXPECT_EQ(near.closed_with(), Code::unavailable) << (near.why ? near.why->describe() : "");
  EXPECT_EQ(*child->wait(), -SIGKILL);
  near.drop();
}

TEST_P(ProcessSuite, APeerThatIsKilledWhileItPlacesABodyIsTheOnlyThingLost) {
  const std::size_t rounds =
      std::min<std::size_t>(5, from_environment("MUSTER_KILL_ROUNDS", kKillRounds));
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto child = start_peer("pour");
    bool is_killed = false;
    End& near = dial_peer(*child, [&](End& end) {
      end.take = [&end](wire::Frame& frame) {
        EXPECT_TRUE(is_frame(frame, shape_of(frame), end.frame_count()))
            << "a broken body was delivered";
      };
      end.provide = [&](const wire::Head&, std::size_t, std::uint64_t size) {
        child->signal(SIGKILL);
        is_killed = true;
        return WritableBuffer::on_heap(size);
      };
    });

    ASSERT_TRUE(run_until([&] { return near.is_closed(); }));

    EXPECT_TRUE(is_killed) << "a large part was not placed";
    EXPECT_EQ(near.closed_with(), Code::unavailable);
    near.drop();
  }
}

TEST_P(ProcessSuite, APeerThatExitsInTheMiddleOfABodyIsTheOnlyThingLost) {
  const auto child = start_peer("exit");
  End& near = dial_peer(*child);
  Stream stream(near, kEndless, bodies_for(near));

  stream.start();

  ASSERT_TRUE(run_until([&] { return near.is_closed(); }));
  EXPECT_EQ(near.closed_with(), Code::unavailable);
  EXPECT_EQ(*child->wait(), 0);
}

TEST_P(ProcessSuite, AStoppedPeerIsSlowAndNotLost) {
  const auto child = start_peer("count");
  End& near = dial_peer(*child);
  Stream first(near, 1000, frames_of(page_shape, 0));
  first.start();
  ASSERT_TRUE(run_until([&] { return near.frame_count() == 1; }));

  child->stop();
  Stream second(near, 40'000, frames_of(later_page, 1000));
  second.start();
  EXPECT_TRUE(run_until([&] { return second.overloads() > 0; })) << "the queue has no bound";
  rig->settle();
  EXPECT_FALSE(second.is_done());
  EXPECT_EQ(near.frame_count(), 1U);
  child->signal(SIGCONT);

  EXPECT_TRUE(run_until([&] { return near.frame_count() == 41 || near.is_closed(); }));
  EXPECT_EQ(near.closed_count(), 0);
}

TEST_P(ProcessSuite, DroppingAConnectionToAStoppedPeerDoesNotWaitForIt) {
  const auto child = start_peer("count");
  End& near = dial_peer(*child);
  Stream first(near, 1000, frames_of(page_shape, 0));
  first.start();
  ASSERT_TRUE(run_until([&] { return near.frame_count() == 1; }));
  child->stop();
  Stream second(near, 40'000, frames_of(later_page, 1000));
  second.start();
  EXPECT_TRUE(run_until([&] { return second.overloads() > 0; }));
  const TimePoint start = near.loop().now();

  near.close();

  EXPECT_TRUE(run_until([&] { return near.is_closed(); }));
  near.drop();
  EXPECT_LT(near.loop().now() - start, kSoon);
}

}  // namespace muster::net::testing
