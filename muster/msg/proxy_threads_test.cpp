// Proxies with real threads and time: joining, sending, and who may do so.

#include "muster/msg/testing/proxy_threads.h"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::echo;
using testing::Worker;
using wire::Value;

struct ProxyThreads : testing::ThreadsTest {
  ProxyThreads()
      : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {}
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

TEST_F(ProxyThreads, JoinHasMetAPeerThoughItLeavesAtOnce) {
  const auto onlooker = group.start("master");
  const auto sees = [&](std::size_t peers) {
    return onlooker->peer_names("worker").size() == peers;
  };
  auto joining = std::async(std::launch::async, [&] {
    ProxyOptions options = group.options("worker_1");
    options.expected = {{.name = "worker_2"}};
    return Proxy::join(group.loop(), std::move(options), seconds(5));
  });
  ASSERT_TRUE(group.loop().wait_until([&] { return sees(1); }, group.loop().now() + seconds(20)));
  {
    // Who joins can look only when this is over.
    const loop::Turn turn(group.loop());
    auto brief = group.start("worker_2");
    while (!sees(2) || brief->peer_names("worker").empty()) group.loop().run_ready();
    for (int round = 0; round < 100; ++round) group.loop().run_ready();
    brief.reset();
    while (!sees(1)) group.loop().run_ready();
  }

  const auto joined = joining.get();

  EXPECT_TRUE(joined) << joined.error().describe();
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

TEST_F(ProxyThreads, ARequestsFutureKnowsTheSessionByWhichItIsCancelled) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  PendingReply reply = master->request({.tag = "x", .destination = "worker_1"});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(reply.get(stop.get_token()).error().code(), Code::cancelled);
  EXPECT_EQ(master->session_state(reply.session()), Session::State::requested)
      << "who does not wait any more has not cancelled it";

  EXPECT_TRUE(master->cancel(reply.session()));

  EXPECT_EQ(reply.get(system_clock().now() + seconds(20)).error().code(), Code::cancelled);
  EXPECT_EQ(master->counters().open_sessions, 0U);
  EXPECT_FALSE(master->cancel(reply.session()));
  EXPECT_FALSE(master->request({.tag = "x", .destination = "nobody"}).session());
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

TEST_F(ProxyThreads, AForkedChildIsToldThatTheProxyIsNotItsOwn) {
  const auto master = join("master", {});
  const pid_t child = fork();
  if (child == 0) {
    const bool is_told =
        master->send({.tag = "x", .destination = "y"}).error().code() == Code::invalid &&
        master->receive_once(Duration::zero()).error().code() == Code::invalid &&
        master->request({.tag = "x", .destination = "y"}).get().error().code() == Code::invalid &&
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
