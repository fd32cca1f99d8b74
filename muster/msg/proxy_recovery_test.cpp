// Proxies under virtual time: loss, return, fencing, what is kept for who is away.

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
using testing::outcome;
using testing::SimGroup;
using testing::take;
using wire::Value;

class Recovery : public testing::Three {};

TEST_F(Recovery, FailSessionsToALostPeerWithItsName) {
  const SessionId id = ask("worker_1");
  const SessionId other = ask("worker_2");
  group.crash("worker_1");
  const Replies replies = outcome(group, *master, id);
  EXPECT_EQ(replies.failures.at(0).error.code(), Code::unavailable);
  EXPECT_NE(replies.failures[0].error.message().find("worker_1"), std::string::npos);
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::lost; }));
  EXPECT_EQ(master->isend({.tag = "sum", .destination = "worker_1"}).error().code(),
            Code::unavailable);
  EXPECT_EQ(master->session_state(other), Session::State::requested);
  EXPECT_TRUE(has(events(*master), Kind::lost));
}

TEST_F(Recovery, SendAgainToOneThatReturnsWhereTheCallerAskedForThat) {
  const SessionId id = ask("worker_1", {.body = 7, .on_loss = OnLoss::wait});
  take(group, "worker_1");
  group.crash("worker_1");
  group.net.run_for(seconds(5));
  EXPECT_EQ(master->session_state(id), Session::State::requested);
  const SessionId later = ask("worker_1", {.body = 8, .on_loss = OnLoss::wait});
  group.add("worker_1");
  const Message again = take(group, "worker_1");
  EXPECT_EQ(again.session_id(), id);
  EXPECT_TRUE(again.is_redelivered());
  const Message first = take(group, "worker_1");
  EXPECT_EQ(first.session_id(), later);
  EXPECT_FALSE(first.is_redelivered());
  ASSERT_TRUE(group["worker_1"].reply(again, 1));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(1));
}

TEST_F(Recovery, KeepNoMoreBytesOfRequestsForAnAbsentPeerThanTheLimit) {
  group.crash("worker_1");
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::lost; }));
  const Buffer body = Buffer::adopt(std::vector<std::byte>(std::size_t{15} << 20));
  const auto keep_one = [&] {
    return master->isend(
        {.tag = "sum", .destination = "worker_1", .body = body, .on_loss = OnLoss::wait});
  };
  std::vector<SessionId> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(*keep_one());
  EXPECT_EQ(keep_one().error().code(), Code::overloaded);
  // One that has ended leaves its room to another.
  EXPECT_TRUE(master->cancel(kept[0]));
  EXPECT_TRUE(keep_one());
}

TEST_F(Recovery, TellOfWhatIsTooLateAtItsDeadlineThoughNobodyReturns) {
  group.crash("worker_1");
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::lost; }));
  events(*master);
  const TimePoint deadline = group.net.loop().now() + seconds(2);
  for (const auto delivery : {Delivery::at_most_once, Delivery::at_least_once}) {
    ASSERT_TRUE(master->isend({.tag = "note",
                               .destination = "worker_1",
                               .session_type = SessionType::notification,
                               .deadline = deadline,
                               .delivery = delivery}));
  }
  group.net.run_for(milliseconds(1900));
  EXPECT_EQ(master->counters().dropped, 0U);
  group.net.run_for(milliseconds(200));
  EXPECT_EQ(master->counters().dropped, 2U);
  EXPECT_EQ(events(*master), (std::vector{Kind::dropped, Kind::dropped}));
  EXPECT_EQ(master->counters().kept, 0U);
}

TEST_F(Recovery, EndRequestsThatWaitForOneWhoIsForgotten) {
  Proxy& small = group.add("small", [](ProxyOptions& options) { options.max_absent_peers = 1; });
  ASSERT_TRUE(group.settle());
  const auto ask_small = [&](const char* whom) {
    return *small.isend({.tag = "sum", .destination = whom, .on_loss = OnLoss::wait});
  };
  const SessionId first = ask_small("worker_1");
  const SessionId second = ask_small("worker_2");
  group.crash("worker_1");
  group.crash("worker_2");
  ASSERT_TRUE(
      group.run_until([&] { return small.is_answered(first) || small.is_answered(second); }));
  const SessionId ended = small.is_answered(first) ? first : second;
  EXPECT_EQ(outcome(group, small, ended).failures.at(0).error.code(), Code::unavailable);
}

TEST_F(Recovery, CountEventsThatGaveWay) {
  Proxy& busy = group.add("busy", [](ProxyOptions& options) { options.max_events = 2; });
  ASSERT_TRUE(group.settle());  // Three have joined.
  const auto first = busy.next_event(kNow);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Kind::missed);
  EXPECT_EQ(first->count, 1U);
  EXPECT_EQ(events(busy), (std::vector{Kind::joined, Kind::joined}));
}

TEST_F(Recovery, KnowAReturningPeerByItsHigherIncarnation) {
  const PeerId before = *master->find("worker_1");
  group.crash("worker_1");
  group.net.run_for(seconds(1));
  group.add("worker_1");
  ASSERT_TRUE(group.settle());
  EXPECT_EQ(*master->find("worker_1"), before);
  EXPECT_EQ(master->peer("worker_1")->incarnation, 2U);
  EXPECT_TRUE(has(events(*master), Kind::returned));
}

TEST_F(Recovery, KeepNotificationsForAnAbsentPeerInOrderUpToTheLimit) {
  group.crash("worker_1");
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::lost; }));
  for (int i = 0; i < 1024; ++i) {
    ask("worker_1", {.body = i, .session_type = SessionType::notification});
  }
  EXPECT_EQ(
      master
          ->isend(
              {.tag = "sum", .destination = "worker_1", .session_type = SessionType::notification})
          .error()
          .code(),
      Code::overloaded);
  group.add("worker_1");
  ASSERT_TRUE(group.settle());
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(take(group, "worker_1").body(), Value(i));
}

TEST_F(Recovery, DropTheOldestForAnAbsentPeerWhereAskedForAndReportEach) {
  Proxy& sender = group.add("sender", [](ProxyOptions& options) {
    options.absent = {.max_messages = 2, .policy = DropPolicy::oldest};
  });
  ASSERT_TRUE(group.settle());
  group.crash("worker_1");
  ASSERT_TRUE(group.run_until([&] { return sender.peer("worker_1")->presence == Presence::lost; }));
  std::vector<SessionId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(*sender.isend({.tag = "note",
                                 .destination = "worker_1",
                                 .body = i,
                                 .session_type = SessionType::notification,
                                 .wants_receipt = true}));
  }
  EXPECT_EQ(sender.counters().dropped, 3U);
  EXPECT_TRUE(has(events(sender), Kind::dropped));
  EXPECT_EQ(sender.receive_by_id({ids[0]}, kNow)->failures.at(0).error.code(), Code::overloaded);
  group.add("worker_1");
  EXPECT_EQ(take(group, "worker_1").body(), Value(3));
  EXPECT_EQ(take(group, "worker_1").body(), Value(4));
  EXPECT_TRUE(outcome(group, sender, ids[4]).is_complete());
}

TEST_F(Recovery, TellWhenTooFewPeersAreHereAndForHowLong) {
  Proxy& sender = group.add("sender", [](ProxyOptions& options) {
    options.minimum = {{.type = "worker", .count = 2}};
    options.minimum_deadline = seconds(60);
  });
  ASSERT_TRUE(group.settle());
  EXPECT_FALSE(has(events(sender), Kind::too_few_peers)) << "not before there were enough";
  group.crash("worker_1");
  group.net.run_for(seconds(59));
  auto kinds = events(sender);
  EXPECT_TRUE(has(kinds, Kind::too_few_peers) && !has(kinds, Kind::minimum_missed));
  group.net.run_for(seconds(2));
  EXPECT_TRUE(has(events(sender), Kind::minimum_missed));
  group.add("worker_1");
  ASSERT_TRUE(group.settle());
  EXPECT_TRUE(has(events(sender), Kind::enough_peers));
}

TEST_F(Recovery, AskAPolicyWhenTooFewPeersWereHereForTooLong) {
  std::vector<TooFew> answers{TooFew::wait, TooFew::go_on, TooFew::end};
  std::vector<std::string> asked;
  Proxy& sender = group.add("sender", [&](ProxyOptions& options) {
    options.minimum = {{.type = "worker", .count = 2}};
    options.minimum_deadline = seconds(60);
    options.on_too_few = [&](const std::string& missing) {
      asked.push_back(missing);
      return answers[asked.size() - 1];
    };
  });
  ASSERT_TRUE(group.settle());
  const auto serve_for = [&](Duration time) {
    group.net.run_for(time);
    return sender.receive_once(kNow);
  };
  group.crash("worker_1");
  EXPECT_TRUE(serve_for(seconds(59)));
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(serve_for(seconds(2)));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_NE(asked[0].find("worker"), std::string::npos);
  EXPECT_TRUE(serve_for(seconds(61))) << "waited as long again, and goes on";
  EXPECT_EQ(asked.size(), 2U);
  EXPECT_TRUE(serve_for(seconds(120)));
  EXPECT_EQ(asked.size(), 2U) << "until there were enough again";
  group.add("worker_1");
  ASSERT_TRUE(group.settle());
  group.crash("worker_1");
  const auto id = sender.isend({.tag = "sum", .destination = "worker_2"});
  static_cast<void>(serve_for(seconds(61)));
  EXPECT_EQ(asked.size(), 3U);
  EXPECT_EQ(serve_for(seconds(1)).error().code(), Code::unavailable);
  EXPECT_EQ(sender.receive_by_id({*id}, kNow)->failures.at(0).error.code(), Code::unavailable);
  EXPECT_EQ(sender.exit_code(), 65) << "whoever started the job is to end all of it";
  EXPECT_EQ(master->exit_code(), 0) << "which is not over";
  ASSERT_TRUE(group.run_until([&] { return master->peer("sender")->presence == Presence::left; }));
}

TEST_F(Recovery, PeersAreThoseWhoAreThereAndOneIsAskedForWhoWasToo) {
  const auto names = [](const Proxy& proxy) {
    std::vector<std::string> all;
    for (const PeerInfo& info : proxy.peers()) all.push_back(info.name);
    return all;
  };
  const auto presence = [&](const char* name) { return master->peer(name)->presence; };
  EXPECT_EQ(names(*master), (std::vector<std::string>{"worker_1", "worker_2"}));
  group.crash("worker_1");
  ASSERT_TRUE(group.run_until([&] { return presence("worker_1") == Presence::lost; }));
  EXPECT_EQ(names(*master), (std::vector<std::string>{"worker_2"}));
  static_cast<void>(group["worker_2"].leave(kNow));
  ASSERT_TRUE(group.run_until([&] { return presence("worker_2") == Presence::left; }));
  EXPECT_TRUE(master->peers().empty());
  EXPECT_EQ(master->report().peers.size(), 2U);
  group.add("worker_1");
  ASSERT_TRUE(group.run_until([&] { return presence("worker_1") == Presence::here; }));
  EXPECT_EQ(names(*master), (std::vector<std::string>{"worker_1"}));
}

TEST_F(Recovery, ForgetAbsentPeersBeyondTheLimit) {
  Proxy& sender = group.add("sender", [](ProxyOptions& options) { options.max_absent_peers = 1; });
  ASSERT_TRUE(group.settle());
  group.crash("worker_1");
  group.crash("worker_2");
  ASSERT_TRUE(group.run_until([&] { return sender.report().peers.size() == 2; }));
  group.add("worker_1");
  group.add("worker_2");
  EXPECT_TRUE(group.settle());
}

TEST_F(Recovery, FenceAnOldIncarnationThatComesBackLate) {
  SimGroup other;
  Proxy& old = other.add("worker_1");
  other.add("master");
  ASSERT_TRUE(other.settle());
  // The registry hears of a second one under the name.
  auto driver = other.net.driver("elsewhere");
  {
    ProxyOptions options;
    options.group = "sim";
    options.name = "worker_1";
    options.type = "worker";
    options.registry = &other.registry;
    options.drivers = {driver.get()};
    options.token.assign(32, std::byte{7});
    options.listen = {"sim://elsewhere/1"};
    auto younger = Proxy::start(other.net.loop(), options);
    ASSERT_TRUE(other.run_until([&] { return old.ended().has_value(); }));
    EXPECT_EQ(old.ended()->code(), Code::invalid);
    EXPECT_EQ(old.exit_code(), 64) << "not to be started again: another is there";
    EXPECT_TRUE(has(events(old), Kind::fenced));
    EXPECT_EQ(old.isend({.tag = "late", .destination = "master"}).error().code(), Code::invalid);
    ASSERT_TRUE(other.run_until([&] {
      const auto info = other["master"].peer("worker_1");
      return info->incarnation == 2 && info->presence == Presence::here;
    }));
  }
  const loop::Turn turn(other.net.loop());
  driver.reset();
}

TEST_F(Recovery, TakeBackOneWhoseCountTheRegistryHasForgotten) {
  // Whichever of the two ids is the lower, and so dials.
  for (int round = 0; round < 6; ++round) {
    SimGroup other({.seed = static_cast<std::uint64_t>(round)});
    Proxy& old_master = other.add("master");
    other.add("worker_1");
    ASSERT_TRUE(other.settle());
    other.crash("worker_1");
    ASSERT_TRUE(
        other.run_until([&] { return old_master.peer("worker_1")->presence == Presence::lost; }));

    other.registry.forget("sim");
    Proxy& again = other.add("worker_1");

    ASSERT_TRUE(other.settle());
    EXPECT_EQ(old_master.peer("worker_1")->incarnation, 2U);
    EXPECT_FALSE(again.ended());
    EXPECT_FALSE(has(events(again), Kind::link_broke));
  }
}

TEST_F(Recovery, MendABrokenLinkAndTellOfIt) {
  group.net.break_connections("master", "worker_1");
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence != Presence::here; }));
  const SessionId id = ask("worker_1", {.body = 1});
  ASSERT_TRUE(group.settle());
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 2));
  EXPECT_TRUE(outcome(group, *master, id).is_complete());
  const auto kinds = events(*master);
  EXPECT_TRUE(has(kinds, Kind::link_broke) && has(kinds, Kind::returned));
}

TEST_F(Recovery, TellOfAnOrderlyLeaveAsThatAndNothingElse) {
  // The registry says it too, but long after the links have ended.
  group.registry.set_delay(seconds(5));
  ASSERT_TRUE(group["worker_1"].isend(
      {.tag = "last", .destination = "master", .session_type = SessionType::notification}));
  static_cast<void>(group["worker_1"].leave(kNow));
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::left; }));
  EXPECT_EQ(take(group, "master").tag(), "last") << "what it said before has come";
  group.net.run_for(seconds(20));
  EXPECT_EQ(events(*master), std::vector{Kind::left});
  EXPECT_EQ(master->peer("worker_1")->presence, Presence::left);
  EXPECT_EQ(master->isend({.tag = "sum", .destination = "worker_1"}).error().code(),
            Code::unavailable);
  group.crash("worker_1");
  group.registry.set_delay(milliseconds(1));
  group.add("worker_1");
  ASSERT_TRUE(group.settle());
  EXPECT_TRUE(has(events(*master), Kind::returned));
}

TEST_F(Recovery, SendNothingToOneThatHasSaidGoodbye) {
  static_cast<void>(group["worker_1"].leave(kNow));
  ASSERT_TRUE(  // Its link may still stand.
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::left; }));
  const auto sent = master->isend(
      {.tag = "note", .destination = "worker_1", .session_type = SessionType::notification});
  ASSERT_FALSE(sent) << "it would be lost, and nobody told";
  EXPECT_EQ(sent.error().code(), Code::unavailable);
}

TEST_F(Recovery, GoOnWithoutTheRegistry) {
  group.registry.set_reachable(false);
  group.net.run_for(seconds(10));
  const SessionId id = ask("worker_1");
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1")));
  EXPECT_TRUE(outcome(group, *master, id).is_complete());
  group.registry.set_reachable(true);
  group.net.run_for(seconds(1));
  EXPECT_TRUE(group.all_agree());
  const auto kinds = events(*master);
  EXPECT_TRUE(has(kinds, Kind::registry_unreachable) && has(kinds, Kind::registry_back));
}

TEST_F(Recovery, LetNewPeersIn) {
  group.add("worker_3");
  ASSERT_TRUE(group.settle());
  EXPECT_EQ(master->peer_names("worker").size(), 3U);
  EXPECT_TRUE(has(events(*master), Kind::joined));
}

}  // namespace
}  // namespace muster::msg
