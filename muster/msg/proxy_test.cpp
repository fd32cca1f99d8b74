// Proxies under virtual time: joining, sessions, order.

#include "muster/msg/proxy.h"

#include <map>

#include <gtest/gtest.h>

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

class Talk : public testing::Three {};

TEST_F(Talk, KnowEachOtherByNameTypeAndIncarnation) {
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

TEST_F(Talk, CompleteATask) {
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

TEST_F(Talk, NeverTakeAnAcknowledgementForACompletion) {
  const SessionId id = ask("worker_1");
  const Message request = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].acknowledge(request));
  ASSERT_TRUE(
      group.run_until([&] { return master->session_state(id) == Session::State::received; }));
  EXPECT_EQ(master->receive_by_id({id}, kNow)->missing, std::vector{id});
  ASSERT_TRUE(group["worker_1"].reply(request, "done"));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value("done"));
}

TEST_F(Talk, AnswerATaskOnce) {
  ask("worker_1");
  const Message request = take(group, "worker_1");
  const Message copy = request;
  ASSERT_TRUE(group["worker_1"].reply(request));
  EXPECT_EQ(group["worker_1"].reply(copy).error().code(), Code::invalid);
  EXPECT_EQ(group["worker_1"].acknowledge(copy).error().code(), Code::invalid);
  EXPECT_EQ(group["worker_1"].fail(copy, Error(Code::failed, "no")).error().code(), Code::invalid);
}

TEST_F(Talk, TellAFailureAsTheErrorItIs) {
  const SessionId id = ask("worker_1");
  ASSERT_TRUE(group["worker_1"].fail(take(group, "worker_1"), Error(Code::failed, "no such sum")));
  const Replies replies = outcome(group, *master, id);
  ASSERT_EQ(replies.failures.size(), 1U);
  EXPECT_EQ(replies.failures[0].error, Error(Code::failed, "worker_1: no such sum"));
  EXPECT_EQ(replies.failures[0].peer, "worker_1");
}

TEST_F(Talk, ReceiptANotificationOnceItIsTaken) {
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

TEST_F(Talk, KeepNoSessionForANotificationThatWantsNoReceipt) {
  const SessionId id = ask("worker_1", {.session_type = SessionType::notification});
  EXPECT_EQ(take(group, "worker_1").session_id(), id);
  EXPECT_EQ(master->counters().open_sessions, 0U);
  EXPECT_EQ(master->receive_by_id({id}, kNow).error().code(), Code::not_found);
}

TEST_F(Talk, EndASessionAtItsDeadlineAndReportTheLateReply) {
  const SessionId id = ask("worker_1", {.deadline = group.net.now() + milliseconds(500)});
  const Message request = take(group, "worker_1");
  EXPECT_NE(request.deadline(), kForever) << "the receiver sees it too";
  const Replies replies = outcome(group, *master, id);
  EXPECT_EQ(replies.failures.at(0).error.code(), Code::timeout);
  ASSERT_TRUE(group["worker_1"].reply(request, 6));
  ASSERT_TRUE(group.run_until([&] { return master->counters().unwanted == 1; }));
  EXPECT_TRUE(has(events(*master), Kind::unwanted));
}

TEST_F(Talk, EndASessionThatIsCancelled) {
  const SessionId id = ask("worker_1");
  EXPECT_TRUE(master->cancel(id));
  EXPECT_FALSE(master->cancel(id));
  EXPECT_EQ(outcome(group, *master, id).failures.at(0).error.code(), Code::cancelled);
}

TEST_F(Talk, TakeTheSessionIdThatTheCallerChose) {
  const SessionId chosen{11, 22};
  EXPECT_EQ(ask("worker_1", {.session_id = chosen}), chosen);
  const Message request = take(group, "worker_1");
  EXPECT_EQ(request.session_id(), chosen);
  ASSERT_TRUE(group["worker_1"].reply(request));
  EXPECT_TRUE(outcome(group, *master, chosen).is_complete());
}

TEST_F(Talk, NeverSwallowOthersMessagesWhileOneWaitsForASession) {
  const SessionId first = ask("worker_1");
  const SessionId second = ask("worker_2");
  ASSERT_TRUE(group["worker_1"].isend({.tag = "hello", .destination = "master"}));
  ASSERT_TRUE(group["worker_2"].reply(take(group, "worker_2"), 2));
  EXPECT_EQ(outcome(group, *master, second).messages.at(0).source(), "worker_2");
  EXPECT_EQ(take(group, "master").tag(), "hello");
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 1));
  EXPECT_EQ(outcome(group, *master, first).messages.at(0).source(), "worker_1");
}

TEST_F(Talk, ScatterBodiesAndGetRepliesThatNameTheirSenders) {
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

TEST_F(Talk, ScatterToSomebodyUnknownAsAnOutcomeOfItsSession) {
  const auto ids = *master->iscatter({.tag = "sum"}, {{"worker_1", 1}, {"nobody", 2}});
  const Replies replies = *master->receive_by_id({ids[1]}, kNow);
  EXPECT_EQ(replies.failures.at(0).error.code(), Code::not_found);
  EXPECT_EQ(master->isend({.tag = "sum", .destination = "nobody"}).error().code(), Code::not_found);
}

TEST_F(Talk, BroadcastByTypePatternAndToAll) {
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

TEST_F(Talk, ForwardWithTheSameSessionTagAndBody) {
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

TEST_F(Talk, ForwardWithAnotherTagAndBodyWhereGiven) {
  const auto deadline = group.net.now() + seconds(100);
  ask("worker_1", {.body = 5, .deadline = deadline});
  const Message request = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].forward(request, "worker_2",
                                        {.tag = "square", .body = 7, .priority = Priority::low}));
  const Message second = take(group, "worker_2");
  EXPECT_EQ(second.tag(), "square");
  EXPECT_EQ(second.body(), Value(7));
  EXPECT_EQ(second.priority(), Priority::low);
  EXPECT_EQ(second.session_id(), request.session_id());
  EXPECT_NE(second.deadline(), kForever) << "that of the first";
  EXPECT_EQ(request.tag(), "sum") << "what is forwarded is not changed";
  EXPECT_EQ(request.body(), Value(5));
}

TEST_F(Talk, ForwardNotificationsForEver) {
  Proxy& broker = group.add("broker", [](ProxyOptions& options) { options.max_sessions = 2; });
  ASSERT_TRUE(group.settle());
  for (int i = 0; i < 10; ++i) {
    ask("broker", {.body = i, .session_type = SessionType::notification});
    const Message note = take(group, "broker");
    const Result<SessionId> forwarded = broker.forward(note, "worker_2");
    ASSERT_TRUE(forwarded) << forwarded.error().describe();
    EXPECT_EQ(*forwarded, note.session_id());
    EXPECT_EQ(take(group, "worker_2").body(), Value(i));
    group.net.run_for(milliseconds(100));
  }
  EXPECT_EQ(broker.counters().sessions, 0U);
}

TEST_F(Talk, ForwardANotificationWithItsReceiptWhereAskedFor) {
  ask("worker_1", {.body = 5, .session_type = SessionType::notification});
  Proxy& broker = group["worker_1"];
  const SessionId id =
      *broker.forward(take(group, "worker_1"), "worker_2", {.wants_receipt = true});
  take(group, "worker_2");
  ASSERT_TRUE(group.run_until([&] { return broker.is_answered(id); }));
  EXPECT_EQ(broker.counters().open_sessions, 0U);
  EXPECT_EQ(broker.counters().sessions, 1U) << "until its outcome is taken";
  EXPECT_TRUE(outcome(group, broker, id).is_complete());
  EXPECT_EQ(broker.counters().sessions, 0U);
  ask("worker_1", {.body = 6, .session_type = SessionType::notification});
  ASSERT_TRUE(
      broker.forward(take(group, "worker_1"), "worker_2", {.answers = Answers::to_receive}));
  take(group, "worker_2");
  EXPECT_EQ(take(group, "worker_1").stage(), Stage::receive) << "the receipt";
}

TEST_F(Talk, RefuseAnIdThatIsNamedTwiceWhetherItIsAnsweredOrNot) {
  const SessionId id = ask("worker_1");
  EXPECT_EQ(master->receive_by_id({id, id}, kNow).error().code(), Code::invalid);
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 6));
  ASSERT_TRUE(group.run_until([&] { return master->is_answered(id); }));
  EXPECT_EQ(master->receive_by_id({id, id}, kNow).error().code(), Code::invalid);
  EXPECT_EQ(master->receive_by_id({id}, kNow)->messages.size(), 1U) << "it can still be taken";
}

TEST_F(Talk, SendAnswersToReceiveWhereAskedFor) {
  const SessionId id = ask("worker_1", {.answers = Answers::to_receive});
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 6));
  const Message answer = take(group, "master");
  EXPECT_EQ(answer.session_id(), id);
  EXPECT_EQ(answer.stage(), Stage::complete);
  EXPECT_EQ(answer.body(), Value(6));
}

TEST_F(Talk, KeepOrderPerSenderAndPriorityAndLetUrgentOvertake) {
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

TEST_F(Talk, RefuseATagThatCannotBe) {
  for (const std::string& tag : {std::string(), std::string(49, 'x'), std::string("\xFF")}) {
    EXPECT_EQ(master->isend({.tag = tag, .destination = "worker_1"}).error().code(), Code::invalid);
  }
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
  EXPECT_EQ(proxy.name().size(), std::string("worker_").size() + 16) << "64 random bits";
}

TEST(ProxyTokens, MayBeReplacedWhileTheProxyRuns) {
  // What is accepted at this moment.
  class Changing final : public net::TokenSource {
   public:
    explicit Changing(std::byte fill) { set(fill); }
    void set(std::byte fill) { token_ = {1, std::vector(net::kMinToken, fill)}; }
    std::vector<net::Token> accepted() override { return {token_}; }

   private:
    net::Token token_;
  };
  const auto old = std::make_shared<Changing>(std::byte{1});
  const auto with = [](const std::shared_ptr<Changing>& tokens) {
    return [tokens](ProxyOptions& options) {
      options.token.clear();
      options.tokens = tokens;
    };
  };
  SimGroup group;
  group.add("worker_1", with(old));
  group.add("worker_2", with(old));
  ASSERT_TRUE(group.settle());
  group.add("worker_3", with(std::make_shared<Changing>(std::byte{2})));
  EXPECT_FALSE(group.settle(seconds(20))) << "it knows another one";
  old->set(std::byte{2});
  EXPECT_TRUE(group.settle()) << "links that begin now ask anew";
}

}  // namespace
}  // namespace muster::msg
