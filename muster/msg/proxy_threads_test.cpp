// Proxies with real threads and time: the calls that wait.

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/dispatch.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/local_group.h"
#include "muster/net/handshake.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::LocalGroup;
using wire::Value;

// Answers each task with `answer(message)` until it is told to stop.
class Worker {
 public:
  using Answer = std::function<Value(const Message&)>;
  Worker(LocalGroup& group, const std::string& name, Answer answer)
      : proxy_(group.start(name)),
        thread_([this, answer = std::move(answer)](const std::stop_token& stop) {
          for (const Message& message : proxy_->receive(Wait(stop))) {
            if (message.session_type() == SessionType::task) {
              EXPECT_TRUE(proxy_->reply(message, answer(message)));
            }
            ++count;
          }
        }) {}
  Proxy& proxy() { return *proxy_; }
  std::atomic<int> count{0};

 private:
  std::unique_ptr<Proxy> proxy_;
  std::jthread thread_;
};

Value echo(const Message& message) { return message.body(); }

struct ProxyThreads : ::testing::Test {
  std::unique_ptr<Proxy> join(const std::string& name, std::vector<Expected> expected) {
    return group.join(name, std::move(expected));
  }
  LocalGroup group{[](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }};
};

TEST_F(ProxyThreads, JoinWaitsForPeersByTypeCountAndName) {
  Worker one(group, "worker_1", echo);
  Worker two(group, "worker_2", echo);
  const auto master = join("master", {{.type = "worker", .count = 2}, {.name = "worker_2"}});
  EXPECT_EQ(master->peer_names("worker").size(), 2U);
}

TEST_F(ProxyThreads, JoinSaysWhoIsMissingAtItsDeadline) {
  Worker one(group, "worker_1", echo);
  ProxyOptions options = group.options("master");
  options.expected = {{.name = "worker_1"}, {.type = "worker", .count = 2}};
  const auto joined = Proxy::join(group.loop(), std::move(options), milliseconds(200));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code(), Code::timeout);
  EXPECT_NE(joined.error().message().find("2 of type worker"), std::string::npos);
  EXPECT_EQ(joined.error().message().find("worker_1"), std::string::npos);
}

TEST_F(ProxyThreads, SendReturnsTheReply) {
  Worker worker(group, "worker_1", [](const Message& m) { return *m.body().as_integer() + 1; });
  const auto master = join("master", {{.name = "worker_1"}});
  for (int i = 0; i < 200; ++i) {
    const auto reply =
        master->send({.tag = "inc", .destination = "worker_1", .body = i}, seconds(20));
    ASSERT_TRUE(reply) << reply.error().describe();
    ASSERT_EQ(reply->body(), Value(i + 1));
  }
}

TEST_F(ProxyThreads, SendOfANotificationReturnsItsReceipt) {
  Worker worker(group, "worker_1", echo);
  const auto master = join("master", {{.name = "worker_1"}});
  const auto receipt = master->send(
      {.tag = "note", .destination = "worker_1", .session_type = SessionType::notification},
      seconds(20));
  ASSERT_TRUE(receipt) << receipt.error().describe();
  EXPECT_EQ(receipt->stage(), Stage::receive);
}

TEST_F(ProxyThreads, SendEndsAtItsDeadline) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  const auto reply = master->send({.tag = "sum", .destination = "worker_1"}, milliseconds(50));
  EXPECT_EQ(reply.error().code(), Code::timeout);
  EXPECT_EQ(master->counters().open_sessions, 0U);
}

TEST_F(ProxyThreads, WaitsOfEveryKindCanBeCancelled) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  const SessionId id = *master->isend({.tag = "sum", .destination = "worker_1"});
  const std::vector<std::function<Code(Wait)>> calls{
      [&](Wait wait) {
        return master->send({.tag = "sum", .destination = "worker_1"}, wait).error().code();
      },
      [&](Wait wait) { return master->receive_once(wait).error().code(); },
      [&](Wait wait) { return master->receive_by_id({id}, wait).error().code(); },
      [&](Wait wait) { return master->wait_for_peers({{.name = "nobody"}}, wait).error().code(); },
  };
  for (const auto& call : calls) {
    std::stop_source source;
    std::optional<Code> code;
    std::jthread waiting([&] { code = call(Wait(source.get_token())); });
    source.request_stop();
    waiting.join();
    EXPECT_EQ(code, Code::cancelled);
  }
  EXPECT_TRUE(master->session_state(id)) << "its answer may still be waited for";
}

std::atomic<int> questions{0};
std::atomic<bool> is_held_while_asked{false};
loop::Loop* asked_loop = nullptr;

bool third_time() {
  if (asked_loop->is_held()) is_held_while_asked = true;
  return ++questions == 3;
}

TEST_F(ProxyThreads, AWaitThatAsksEndsOnceTheAnswerIsYes) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  asked_loop = &group.loop();
  const std::vector<std::function<Code(Wait)>> calls{
      [&](Wait wait) {
        return master->send({.tag = "sum", .destination = "worker_1"}, wait).error().code();
      },
      [&](Wait wait) { return master->receive_once(wait).error().code(); },
  };
  for (const auto& call : calls) {
    questions = 0;
    EXPECT_EQ(call(Wait(seconds(60)).asking(third_time)), Code::cancelled);
    EXPECT_EQ(questions, 3);
  }
  EXPECT_FALSE(is_held_while_asked);
  questions = 4;
  EXPECT_FALSE(*master->receive_once(Wait(Duration::zero()).asking(third_time)));
  EXPECT_EQ(questions, 4) << "who does not wait does not ask";
}

TEST_F(ProxyThreads, ReceiveOnceOfZeroDoesNotWait) {
  const auto master = join("master", {});
  const auto none = master->receive_once(Duration::zero());
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ProxyThreads, ReceiveByIdGivesWhatHasComeByTheDeadline) {
  Worker worker(group, "worker_1", echo);
  const auto silent = group.start("worker_2");
  const auto master = join("master", {{.type = "worker", .count = 2}});
  const auto ids = *master->iscatter({.tag = "sum"}, {{"worker_1", 1}, {"worker_2", 2}});
  ASSERT_TRUE(master->receive_by_id({}, seconds(1))->is_complete());
  const Replies replies = *master->receive_by_id(ids, milliseconds(300));
  EXPECT_EQ(replies.messages.size(), 1U);
  EXPECT_EQ(replies.missing, std::vector{ids[1]});
  ASSERT_TRUE(silent->reply(**silent->receive_once(seconds(20)), 22));
  EXPECT_EQ(master->receive_by_id(replies.missing, seconds(20))->messages.at(0).body(), Value(22));
}

TEST_F(ProxyThreads, BroadcastGathersRepliesThatNameTheirSenders) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Worker>(group, "worker_" + std::to_string(i), echo));
  }
  const auto master = join("master", {{.type = "worker", .count = 4}});
  const Replies replies =
      *master->broadcast(Audience::type("worker"), {.tag = "go", .body = 3}, seconds(20));
  std::set<std::string> senders;
  for (const Message& message : replies.messages) senders.emplace(message.source());
  EXPECT_EQ(senders.size(), 4U);
  EXPECT_TRUE(replies.is_complete());
}

TEST_F(ProxyThreads, CollectReturnsWithEnoughAfterTheGrace) {
  Worker one(group, "worker_1", echo);
  Worker two(group, "worker_2", echo);
  const auto silent = group.start("worker_3");
  const auto master = join("master", {{.type = "worker", .count = 3}});
  const auto ids = *master->ibroadcast(Audience::type("worker"), {.tag = "go"});
  const Replies replies =
      *master->collect(ids, {.fraction = 0.6, .grace = milliseconds(20)}, seconds(20));
  EXPECT_EQ(replies.messages.size(), 2U);
  EXPECT_EQ(replies.missing.size(), 1U);
  EXPECT_EQ(master->counters().open_sessions, 0U) << "the rest was cancelled";
}

TEST_F(ProxyThreads, RequestGivesAFuture) {
  Worker worker(group, "worker_1", echo);
  const auto master = join("master", {{.name = "worker_1"}});
  loop::Future<Message> future =
      master->request({.tag = "x", .destination = "worker_1", .body = 9});
  const auto reply = future.get(system_clock().now() + seconds(20));
  ASSERT_TRUE(reply) << reply.error().describe();
  EXPECT_EQ(reply->body(), Value(9));
  EXPECT_EQ(master->request({.tag = "x", .destination = "nobody"}).get().error().code(),
            Code::not_found);
}

TEST_F(ProxyThreads, ManyThreadsMaySendAtOnce) {
  Worker worker(group, "worker_1", echo);
  const auto master = join("master", {{.name = "worker_1"}});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          const Value body = t * 1000 + i;
          const auto reply =
              master->send({.tag = "x", .destination = "worker_1", .body = body}, seconds(60));
          if (!reply || reply->body() != body) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(worker.count, 400);
}

TEST_F(ProxyThreads, BlockingSendWaitsForRoomAndIsendSaysOverloaded) {
  ProxyOptions options = group.options("master");
  options.max_queued = 4096;
  ProxyOptions small = group.options("worker_1");
  small.max_waiting = 1;
  small.window = net::kMinWindow;
  const auto slow = *Proxy::start(group.loop(), std::move(small));
  options.expected = {{.name = "worker_1"}};
  const auto master = *Proxy::join(group.loop(), std::move(options), seconds(20));
  const Draft draft{.tag = "note",
                    .destination = "worker_1",
                    .body = Buffer::adopt(std::vector<std::byte>(16 << 10)),
                    .session_type = SessionType::notification};
  int sent = 0;
  Result<SessionId> last = SessionId{};
  while ((last = master->isend(draft)) && sent < 5000) ++sent;
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code(), Code::overloaded);
  EXPECT_LT(sent, 2000);
  std::jthread reader([&] {
    for (int i = 0; i <= sent; ++i) EXPECT_TRUE(slow->receive_once(seconds(20))->has_value());
  });
  EXPECT_TRUE(master->send(draft, seconds(20)));
}

TEST_F(ProxyThreads, BlockingScatterAndBroadcastWaitForRoom) {
  ProxyOptions options = group.options("master");
  options.max_sessions = 3;
  options.expected = {{.type = "worker", .count = 2}};
  Worker one(group, "worker_1", echo);
  Worker two(group, "worker_2", echo);
  const auto master = *Proxy::join(group.loop(), std::move(options), seconds(20));
  const auto first = *master->isend({.tag = "sum", .destination = "worker_1"});
  const auto second = *master->isend({.tag = "sum", .destination = "worker_2"});
  std::jthread other([&] {
    EXPECT_TRUE(master->receive_by_id({first}, seconds(20))->is_complete());
    EXPECT_TRUE(master->receive_by_id({second}, seconds(20))->is_complete());
  });
  const auto replies = master->scatter(
      {.tag = "sum"}, {{"worker_1", 1}, {"worker_2", 2}, {"worker_1", 3}}, seconds(20));
  ASSERT_TRUE(replies) << replies.error().describe();
  EXPECT_TRUE(replies->is_complete());
  EXPECT_EQ(replies->messages.at(2).body(), Value(3));
  other.join();
  EXPECT_TRUE(master->broadcast(Audience::all(), {.tag = "sum"}, seconds(20))->is_complete());
  EXPECT_EQ(master->counters().open_sessions, 0U);
}

TEST_F(ProxyThreads, ScatterGivesUpWaitingForRoomAtItsDeadline) {
  ProxyOptions options = group.options("master");
  options.kept = {.max_messages = 1, .max_bytes = 1 << 20};
  options.expected = {{.name = "worker_1"}};
  const auto lazy = group.start("worker_1");
  const auto master = *Proxy::join(group.loop(), std::move(options), seconds(20));
  const Draft draft{.tag = "note",
                    .session_type = SessionType::notification,
                    .delivery = Delivery::at_least_once};
  const auto replies = master->scatter(draft, {{"worker_1", 1}, {"worker_1", 2}}, milliseconds(50));
  ASSERT_TRUE(replies) << replies.error().describe();
  EXPECT_EQ(replies->missing.size(), 1U);
  ASSERT_EQ(replies->failures.size(), 1U);
  EXPECT_EQ(replies->failures[0].error.code(), Code::overloaded);
}

TEST_F(ProxyThreads, SendOfAtLeastOnceReturnsOnceItIsHandledAndLeaveWaitsForAll) {
  const auto worker = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  std::atomic<int> handled{0};
  const std::jthread handler([&] {
    for (int i = 0; i < 10; ++i) {
      const auto message = *worker->receive_once(seconds(20));
      ASSERT_TRUE(message);
      ++handled;
      EXPECT_TRUE(worker->done(*message));
    }
  });
  const Draft draft{.tag = "note",
                    .destination = "worker_1",
                    .session_type = SessionType::notification,
                    .delivery = Delivery::at_least_once};
  ASSERT_TRUE(master->send(draft, seconds(20)));
  EXPECT_EQ(handled, 1);
  for (int i = 1; i < 10; ++i) ASSERT_TRUE(master->isend(draft));
  EXPECT_TRUE(master->leave(seconds(20)));
  EXPECT_EQ(handled, 10);
  EXPECT_EQ(master->counters().dropped, 0U);
}

TEST_F(ProxyThreads, LeaveDeliversWhatWasSentAndSaysGoodbye) {
  const auto learner = group.start("learner");
  const auto worker = join("worker_1", {{.name = "learner"}});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(worker->isend({.tag = "last",
                               .destination = "learner",
                               .body = i,
                               .session_type = SessionType::notification}));
  }
  ASSERT_TRUE(worker->leave(seconds(20)));
  for (int i = 0; i < 100; ++i) ASSERT_EQ((*learner->receive_once(seconds(20)))->body(), Value(i));
  std::optional<ProxyEvent> event;
  do {
    event = learner->next_event(seconds(20));
  } while (event && event->kind != ProxyEvent::Kind::left);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->peer, "worker_1");
  EXPECT_EQ(worker->send({.tag = "x", .destination = "learner"}).error().code(), Code::cancelled);
  EXPECT_EQ(worker->receive_once().error().code(), Code::cancelled);
}

TEST_F(ProxyThreads, DispatchGivesTasksToIdleWorkers) {
  Worker one(group, "worker_1", echo);
  Worker two(group, "worker_2", echo);
  const auto master = join("master", {{.type = "worker", .count = 2}});
  int given = 0;
  std::set<std::int64_t> results;
  Dispatch dispatch(*master, {.workers = Audience::type("worker")});
  const auto report = dispatch.run(
      [&]() -> std::optional<Draft> {
        if (given == 200) return std::nullopt;
        return Draft{.tag = "work", .body = given++};
      },
      [&](const Draft&, Result<Message> result) { results.insert(*result->body().as_integer()); },
      seconds(60));
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->done, 200U);
  EXPECT_EQ(results.size(), 200U);
  EXPECT_GT(one.count, 0);
  EXPECT_GT(two.count, 0);
}

TEST_F(ProxyThreads, DispatchEndsAtItsDeadlineWithoutWorkers) {
  const auto master = join("master", {});
  Dispatch dispatch(*master, {});
  const auto report =
      dispatch.run([] { return std::optional(Draft{.tag = "work"}); }, nullptr, milliseconds(50));
  EXPECT_EQ(report.error().code(), Code::timeout);
}

TEST_F(ProxyThreads, EventsAreGivenToACallbackOnTheCallersThread) {
  ProxyOptions options = group.options("master");
  std::vector<std::pair<std::string, std::thread::id>> heard;
  options.on_event = [&](const ProxyEvent& event) {
    if (event.kind == ProxyEvent::Kind::joined) {
      heard.emplace_back(event.peer, std::this_thread::get_id());
    }
  };
  const auto master = *Proxy::start(group.loop(), std::move(options));
  Worker worker(group, "worker_1", echo);
  ASSERT_TRUE(master->wait_for_peers({{.name = "worker_1"}}, seconds(20)));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0], std::pair(std::string("worker_1"), std::this_thread::get_id()));
}

TEST_F(ProxyThreads, ACallThatWaitsWakesForAnEvent) {
  ProxyOptions options = group.options("master");
  std::stop_source stop;
  options.on_event = [&](const ProxyEvent& event) {
    if (event.kind == ProxyEvent::Kind::joined) stop.request_stop();
  };
  const auto master = *Proxy::start(group.loop(), std::move(options));
  const auto worker = group.start("worker_1");
  // No message ever comes; what the callback does ends the wait.
  EXPECT_EQ(master->receive_once(Wait(stop.get_token())).error().code(), Code::cancelled);
}

TEST_F(ProxyThreads, AForkedChildIsToldThatTheProxyIsNotItsOwn) {
  const auto master = join("master", {});
  const pid_t child = fork();
  if (child == 0) {
    const bool is_told =
        master->send({.tag = "x", .destination = "y"}).error().code() == Code::invalid &&
        master->receive_once(Duration::zero()).error().code() == Code::invalid &&
        master->ended().has_value() && master->peers().empty();
    _exit(is_told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(master->receive_once(Duration::zero())) << "the parent's still works";
}

}  // namespace
}  // namespace muster::msg
