// Proxies under virtual time: joining, sessions, loss and return.

#include "muster/msg/proxy.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "muster/msg/testing/sim_group.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SimGroup;
using wire::Value;
using Kind = ProxyEvent::Kind;

const Wait kNow = Wait(Duration::zero());

Message take(SimGroup& group, const std::string& name) {
  std::optional<Message> taken;
  EXPECT_TRUE(group.run_until([&] { return group[name].counters().waiting > 0; }));
  return *std::move(*group[name].receive_once(kNow));
}

// Waits for the outcome of a session without waiting.
Replies outcome(SimGroup& group, Proxy& proxy, SessionId id) {
  EXPECT_TRUE(group.run_until([&] { return proxy.is_answered(id); }));
  return *proxy.receive_by_id({id}, kNow);
}

std::vector<Kind> events(Proxy& proxy) {
  std::vector<Kind> kinds;
  while (const auto event = proxy.next_event(kNow)) kinds.push_back(event->kind);
  return kinds;
}

bool has(const std::vector<Kind>& kinds, Kind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// A master and two workers who have met.
struct Three : ::testing::Test {
  Three() {
    group.add("master");
    group.add("worker_1");
    group.add("worker_2");
    EXPECT_TRUE(group.settle());
    master = &group["master"];
    events(*master);
  }
  SessionId ask(const std::string& whom, Draft draft = {}) {
    if (!draft.tag.is_valid()) draft.tag = "sum";
    draft.destination = whom;
    return *master->isend(std::move(draft));
  }

  SimGroup group;
  Proxy* master = nullptr;
};

TEST_F(Three, KnowEachOtherByNameTypeAndIncarnation) {
  const auto peers = master->peers();
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_EQ(peers[0].name, "worker_1");
  EXPECT_EQ(peers[0].type, "worker");
  EXPECT_EQ(peers[0].incarnation, 1U);
  EXPECT_EQ(peers[0].presence, Presence::here);
  EXPECT_EQ(master->peer_names("worker"), (std::vector<std::string>{"worker_1", "worker_2"}));
  EXPECT_TRUE(master->has_peers({{.type = "worker", .count = 2}, {.name = "worker_1"}}));
  EXPECT_FALSE(master->has_peers({{.type = "worker", .count = 3}}));
  EXPECT_FALSE(master->has_peers({{.name = "worker_3"}}));
}

TEST_F(Three, CompleteATask) {
  const SessionId id = ask("worker_1", {.body = Value::List{1, 2, 3}});
  const Message request = take(group, "worker_1");
  EXPECT_EQ(request.source(), "master");
  EXPECT_EQ(request.destination(), "worker_1");
  EXPECT_EQ(request.tag(), "sum");
  EXPECT_EQ(request.body(), Value(Value::List{1, 2, 3}));
  EXPECT_EQ(request.session_id(), id);
  ASSERT_TRUE(group["worker_1"].reply(request, 6));
  const Replies replies = outcome(group, *master, id);
  ASSERT_EQ(replies.messages.size(), 1U);
  EXPECT_EQ(replies.messages[0].source(), "worker_1");
  EXPECT_EQ(replies.messages[0].body(), Value(6));
  EXPECT_EQ(replies.messages[0].stage(), Stage::complete);
  EXPECT_EQ(request.source(), "master") << "a reply never changes the message it answers";
}

TEST_F(Three, NeverTakeAnAcknowledgementForACompletion) {
  const SessionId id = ask("worker_1");
  const Message request = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].acknowledge(request));
  ASSERT_TRUE(
      group.run_until([&] { return master->session_state(id) == Session::State::received; }));
  EXPECT_EQ(master->receive_by_id({id}, kNow)->missing, std::vector{id});
  ASSERT_TRUE(group["worker_1"].reply(request, "done"));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value("done"));
}

TEST_F(Three, AnswerATaskOnce) {
  ask("worker_1");
  const Message request = take(group, "worker_1");
  const Message copy = request;
  ASSERT_TRUE(group["worker_1"].reply(request));
  EXPECT_EQ(group["worker_1"].reply(copy).error().code(), Code::invalid);
  EXPECT_EQ(group["worker_1"].acknowledge(copy).error().code(), Code::invalid);
  EXPECT_EQ(group["worker_1"].fail(copy, Error(Code::failed, "no")).error().code(), Code::invalid);
}

TEST_F(Three, TellAFailureAsTheErrorItIs) {
  const SessionId id = ask("worker_1");
  ASSERT_TRUE(group["worker_1"].fail(take(group, "worker_1"), Error(Code::failed, "no such sum")));
  const Replies replies = outcome(group, *master, id);
  ASSERT_EQ(replies.failures.size(), 1U);
  EXPECT_EQ(replies.failures[0].error, Error(Code::failed, "worker_1: no such sum"));
  EXPECT_EQ(replies.failures[0].peer, "worker_1");
}

TEST_F(Three, ReceiptANotificationOnceItIsTaken) {
  const SessionId id =
      ask("worker_1", {.session_type = SessionType::notification, .wants_receipt = true});
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting == 1; }));
  group.net.run_for(seconds(1));
  EXPECT_EQ(master->session_state(id), Session::State::requested) << "not before it is taken";
  const Message message = take(group, "worker_1");
  EXPECT_EQ(message.session_type(), SessionType::notification);
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).stage(), Stage::receive);
  EXPECT_EQ(group["worker_1"].reply(message, 3).error().code(), Code::invalid);
}

TEST_F(Three, KeepNoSessionForANotificationThatWantsNoReceipt) {
  const SessionId id = ask("worker_1", {.session_type = SessionType::notification});
  EXPECT_EQ(take(group, "worker_1").session_id(), id);
  EXPECT_EQ(master->counters().open_sessions, 0U);
  EXPECT_EQ(master->receive_by_id({id}, kNow).error().code(), Code::not_found);
}

TEST_F(Three, EndASessionAtItsDeadlineAndReportTheLateReply) {
  const SessionId id = ask("worker_1", {.deadline = group.net.now() + milliseconds(500)});
  const Message request = take(group, "worker_1");
  EXPECT_NE(request.deadline(), kForever) << "the receiver sees it too";
  const Replies replies = outcome(group, *master, id);
  EXPECT_EQ(replies.failures.at(0).error.code(), Code::timeout);
  ASSERT_TRUE(group["worker_1"].reply(request, 6));
  ASSERT_TRUE(group.run_until([&] { return master->counters().unwanted == 1; }));
  EXPECT_TRUE(has(events(*master), Kind::unwanted));
}

TEST_F(Three, EndASessionThatIsCancelled) {
  const SessionId id = ask("worker_1");
  EXPECT_TRUE(master->cancel(id));
  EXPECT_FALSE(master->cancel(id));
  EXPECT_EQ(outcome(group, *master, id).failures.at(0).error.code(), Code::cancelled);
}

TEST_F(Three, TakeTheSessionIdThatTheCallerChose) {
  const SessionId chosen{11, 22};
  EXPECT_EQ(ask("worker_1", {.session_id = chosen}), chosen);
  const Message request = take(group, "worker_1");
  EXPECT_EQ(request.session_id(), chosen);
  ASSERT_TRUE(group["worker_1"].reply(request));
  EXPECT_TRUE(outcome(group, *master, chosen).is_complete());
}

TEST_F(Three, NeverSwallowOthersMessagesWhileOneWaitsForASession) {
  const SessionId first = ask("worker_1");
  const SessionId second = ask("worker_2");
  ASSERT_TRUE(group["worker_1"].isend({.tag = "hello", .destination = "master"}));
  ASSERT_TRUE(group["worker_2"].reply(take(group, "worker_2"), 2));
  EXPECT_EQ(outcome(group, *master, second).messages.at(0).source(), "worker_2");
  EXPECT_EQ(take(group, "master").tag(), "hello");
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 1));
  EXPECT_EQ(outcome(group, *master, first).messages.at(0).source(), "worker_1");
}

TEST_F(Three, ScatterBodiesAndGetRepliesThatNameTheirSenders) {
  const auto ids = *master->iscatter({.tag = "sum"}, {{"worker_1", 1}, {"worker_2", 2}});
  for (const std::string name : {"worker_2", "worker_1"}) {
    const Message request = take(group, name);
    ASSERT_TRUE(group[name].reply(request, *request.body().as_integer() * 10));
  }
  ASSERT_TRUE(group.run_until([&] { return master->counters().open_sessions == 0; }));
  const Replies replies = *master->receive_by_id(ids, kNow);
  ASSERT_EQ(replies.messages.size(), 2U);
  EXPECT_EQ(replies.messages[0].source(), "worker_1");
  EXPECT_EQ(replies.messages[0].body(), Value(10));
  EXPECT_EQ(replies.messages[1].source(), "worker_2");
}

TEST_F(Three, ScatterToSomebodyUnknownAsAnOutcomeOfItsSession) {
  const auto ids = *master->iscatter({.tag = "sum"}, {{"worker_1", 1}, {"nobody", 2}});
  const Replies replies = *master->receive_by_id({ids[1]}, kNow);
  EXPECT_EQ(replies.failures.at(0).error.code(), Code::not_found);
  EXPECT_EQ(master->isend({.tag = "sum", .destination = "nobody"}).error().code(), Code::not_found);
}

TEST_F(Three, BroadcastByTypePatternAndToAll) {
  group.add("worker_eval_1");
  ASSERT_TRUE(group.settle());
  EXPECT_EQ(master->ibroadcast(Audience::type("worker"), {.tag = "go"})->size(), 2U)
      << "a name that contains another name is not that name";
  EXPECT_EQ(master->ibroadcast(Audience::pattern("worker_?"), {.tag = "go"})->size(), 2U);
  EXPECT_EQ(master->ibroadcast(Audience::pattern("*_1"), {.tag = "go"})->size(), 2U);
  EXPECT_EQ(master->ibroadcast(Audience::all(), {.tag = "go"})->size(), 3U);
  const Message message = take(group, "worker_eval_1");
  EXPECT_EQ(message.destination(), "worker_eval_1");
}

TEST_F(Three, ForwardWithTheSameSessionTagAndBody) {
  const SessionId id = ask("worker_1", {.body = 5});
  const Message request = take(group, "worker_1");
  const SessionId forwarded = *group["worker_1"].forward(request, "worker_2");
  EXPECT_EQ(forwarded, id);
  const Message second = take(group, "worker_2");
  EXPECT_EQ(second.source(), "worker_1");
  EXPECT_EQ(second.tag(), "sum");
  EXPECT_EQ(second.body(), Value(5));
  ASSERT_TRUE(group["worker_2"].reply(second, 25));
  const Replies replies = outcome(group, group["worker_1"], forwarded);
  ASSERT_TRUE(group["worker_1"].reply(request, replies.messages.at(0).body()));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(25));
}

TEST_F(Three, SendAnswersToReceiveWhereAskedFor) {
  const SessionId id = ask("worker_1", {.answers = Answers::to_receive});
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 6));
  const Message answer = take(group, "master");
  EXPECT_EQ(answer.session_id(), id);
  EXPECT_EQ(answer.stage(), Stage::complete);
  EXPECT_EQ(answer.body(), Value(6));
}

TEST_F(Three, KeepOrderPerSenderAndPriorityAndLetUrgentOvertake) {
  for (int i = 0; i < 300; ++i) {
    ask("worker_1", {.body = i,
                     .session_type = SessionType::notification,
                     .priority = i % 3 == 0 ? Priority::urgent : Priority::low});
  }
  std::map<Priority, int> last{{Priority::urgent, -1}, {Priority::low, -1}};
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting == 300; }));
  bool was_low = false;
  for (int i = 0; i < 300; ++i) {
    const Message message = take(group, "worker_1");
    const int number = static_cast<int>(*message.body().as_integer());
    EXPECT_GT(number, last[message.priority()]);
    last[message.priority()] = number;
    was_low |= message.priority() == Priority::low;
    EXPECT_FALSE(was_low && message.priority() == Priority::urgent);
  }
}

TEST_F(Three, FailSessionsToALostPeerWithItsName) {
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

TEST_F(Three, SendAgainToOneThatReturnsWhereTheCallerAskedForThat) {
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

TEST_F(Three, KnowAReturningPeerByItsHigherIncarnation) {
  const PeerId before = *master->find("worker_1");
  group.crash("worker_1");
  group.net.run_for(seconds(1));
  group.add("worker_1");
  ASSERT_TRUE(group.settle());
  EXPECT_EQ(*master->find("worker_1"), before);
  EXPECT_EQ(master->peer("worker_1")->incarnation, 2U);
  EXPECT_TRUE(has(events(*master), Kind::returned));
}

TEST_F(Three, KeepNotificationsForAnAbsentPeerInOrderUpToTheLimit) {
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

TEST_F(Three, DropTheOldestForAnAbsentPeerWhereAskedForAndReportEach) {
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

TEST_F(Three, TellWhenTooFewPeersAreHereAndForHowLong) {
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

TEST_F(Three, ForgetAbsentPeersBeyondTheLimit) {
  Proxy& sender = group.add("sender", [](ProxyOptions& options) { options.max_absent_peers = 1; });
  ASSERT_TRUE(group.settle());
  group.crash("worker_1");
  group.crash("worker_2");
  ASSERT_TRUE(group.run_until([&] { return sender.peers().size() == 2; }));
  group.add("worker_1");
  group.add("worker_2");
  EXPECT_TRUE(group.settle());
}

TEST_F(Three, RefuseATagThatCannotBe) {
  for (const std::string tag : {std::string(), std::string(49, 'x'), std::string("\xFF")}) {
    EXPECT_EQ(master->isend({.tag = tag, .destination = "worker_1"}).error().code(), Code::invalid);
  }
}

TEST_F(Three, FenceAnOldIncarnationThatComesBackLate) {
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

TEST_F(Three, MendABrokenLinkAndTellOfIt) {
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

TEST_F(Three, GoOnWithoutTheRegistry) {
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

TEST_F(Three, LetNewPeersIn) {
  group.add("worker_3");
  ASSERT_TRUE(group.settle());
  EXPECT_EQ(master->peer_names("worker").size(), 3U);
  EXPECT_TRUE(has(events(*master), Kind::joined));
}

TEST(ProxyOptions, ThatCannotBeAreRefused) {
  SimGroup group;
  auto driver = group.net.driver("here");
  const auto start = [&](const std::function<void(ProxyOptions&)>& tweak) {
    ProxyOptions options;
    options.group = "g";
    options.type = "t";
    options.name = "n";
    options.registry = &group.registry;
    options.drivers = {driver.get()};
    options.token.assign(32, std::byte{7});
    options.listen = {"sim://here/1"};
    tweak(options);
    auto made = Proxy::start(group.net.loop(), options);
    return made ? std::string() : std::string(name(made.error().code()));
  };
  EXPECT_EQ(start([](ProxyOptions&) {}), "");
  EXPECT_EQ(start([](ProxyOptions& o) { o.group = ""; }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.name = "a:b"; }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.type = std::string(65, 'x'); }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.registry = nullptr; }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.drivers.clear(); }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.token.resize(3); }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.expected = {{.type = "t", .count = 0}}; }), "invalid");
  EXPECT_EQ(start([](ProxyOptions& o) { o.expected = {{.name = "n"}}; }), "invalid");
  const loop::Turn turn(group.net.loop());
  driver.reset();
}

TEST(ProxyNames, AreMadeOfTheTypeWhereNoneIsGiven) {
  SimGroup group;
  Proxy& proxy = group.add("worker_1", [](ProxyOptions& options) { options.name = ""; });
  EXPECT_TRUE(proxy.name().starts_with("worker_"));
  EXPECT_NE(proxy.name(), "worker_1");
}

}  // namespace
}  // namespace muster::msg
