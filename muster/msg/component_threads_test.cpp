// Components with real threads and time: what wakes a launch, and what ends it.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/component.h"
#include "muster/msg/testing/local_group.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::LocalGroup;
using wire::Value;
using Messages = std::vector<Message>;

struct Worker {
  Value add(Proxy&, const Messages& messages) {
    total += *messages[0].body().as_integer();
    return total;
  }
  std::int64_t total = 0;
};

struct ComponentThreads : ::testing::Test {
  std::unique_ptr<Proxy> join(const std::string& name, std::vector<Expected> expected) {
    return group.join(name, std::move(expected));
  }
  LocalGroup group{[](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }};
};

TEST_F(ComponentThreads, AnswerTasksUntilAnotherThreadStopsThem) {
  const auto proxy = group.start("worker_1");
  Component<Worker> worker(*proxy, {{"master:add:1", &Worker::add}});
  std::optional<Status> ended;
  std::jthread thread([&] { ended = worker.launch(seconds(60)); });
  const auto master = join("master", {{.name = "worker_1"}});
  for (int i = 1; i <= 100; ++i) {
    const auto reply =
        master->send({.tag = "add", .destination = "worker_1", .body = 1}, seconds(20));
    ASSERT_TRUE(reply) << reply.error().describe();
    ASSERT_EQ(reply->body(), Value(i));
  }
  worker.stop();
  thread.join();
  EXPECT_TRUE(*ended) << ended->error().describe();
  EXPECT_EQ(worker->total, 100);
}

TEST_F(ComponentThreads, EndAtTheDeadlineOrWhenTheCallerAsksOrTheProxyIsOver) {
  const auto proxy = group.start("worker_1");
  Component<Worker> worker(*proxy, {{"add", &Worker::add}});
  EXPECT_EQ(worker.launch(milliseconds(20)).error().code(), Code::timeout);
  std::stop_source source;
  std::optional<Code> code;
  std::jthread asked([&] { code = worker.launch(Wait(source.get_token())).error().code(); });
  source.request_stop();
  asked.join();
  EXPECT_EQ(code, Code::cancelled);
  EXPECT_FALSE(worker.is_stopped());
  std::jthread over([&] { code = worker.launch(seconds(60)).error().code(); });
  ASSERT_TRUE(proxy->leave(seconds(20)));
  over.join();
  EXPECT_EQ(code, Code::cancelled);
}

TEST_F(ComponentThreads, WakeForATimeBoundWithoutAnotherMessage) {
  const auto proxy = group.start("learner");
  Component<Worker> learner(*proxy);
  learner.on("worker:rollout:5 within 20ms", [&](Worker& local, Proxy&, const Messages& messages) {
    local.total = static_cast<std::int64_t>(messages.size());
    learner.stop();
  });
  const auto sender = join("worker_1", {{.name = "learner"}});
  ASSERT_TRUE(sender->isend(
      {.tag = "rollout", .destination = "learner", .session_type = SessionType::notification}));
  const TimePoint begin = group.loop().now();
  EXPECT_TRUE(learner.launch(seconds(20)));
  EXPECT_LT(group.loop().now() - begin, seconds(10)) << "the deadline woke it, nothing else";
  EXPECT_EQ(learner->total, 1);
}

TEST_F(ComponentThreads, WakeForALossWithoutAnotherMessage) {
  auto lost = group.start("worker_2");
  const auto proxy = join("learner", {{.name = "worker_2"}});
  Component<Worker> learner(*proxy);
  learner.on("seen", [&](Worker&, Proxy&, const Messages&) { lost.reset(); })
      .on("worker:rollout:100%", [&](Worker& local, Proxy&, const Messages&) {
        EXPECT_EQ(lost, nullptr) << "one of two is not all";
        ++local.total;
        learner.stop();
      });
  const auto sender = join("worker_1", {{.name = "learner"}});
  for (const char* tag : {"rollout", "seen"}) {
    ASSERT_TRUE(sender->isend(
        {.tag = tag, .destination = "learner", .session_type = SessionType::notification}));
  }
  const TimePoint begin = group.loop().now();
  EXPECT_TRUE(learner.launch(seconds(20)));
  EXPECT_LT(group.loop().now() - begin, seconds(10)) << "the deadline woke it, nothing else";
  EXPECT_EQ(learner->total, 1);
}

TEST_F(ComponentThreads, StartNoSecondHandlerWhileOneWaits) {
  const auto echo = group.start("echo");
  std::jthread echoing([&](const std::stop_token& stop) {
    for (const Message& message : echo->receive(Wait(stop))) {
      static_cast<void>(echo->reply(message, message.body()));
    }
  });
  const auto proxy = join("worker_1", {{.name = "echo"}});
  Component<Worker> worker(*proxy);
  bool is_inside = false;
  int calls = 0;
  worker.on("go", [&](Worker&, Proxy& its, const Messages&) {
    EXPECT_FALSE(is_inside);
    is_inside = true;
    EXPECT_TRUE(its.send({.tag = "echo", .destination = "echo"}, seconds(20)));
    is_inside = false;
    if (++calls == 20) worker.stop();
  });
  const auto master = join("master", {{.name = "worker_1"}});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(master->isend(
        {.tag = "go", .destination = "worker_1", .session_type = SessionType::notification}));
  }
  EXPECT_TRUE(worker.launch(seconds(60)));
  EXPECT_EQ(calls, 20);
}

TEST_F(ComponentThreads, RunHandlersSideBySideIfThereIsAPool) {
  const auto proxy = group.start("worker_1");
  std::atomic<int> inside = 0;
  Component<Worker> worker(*proxy, {.pool = 3}, {});
  worker.on("meet", [&](Worker&, Proxy& its, const Messages& messages) -> Value {
    ++inside;
    its.loop().post([] {});
    // Nobody goes on before three are here.
    EXPECT_TRUE(its.loop().wait_until([&] { return inside >= 3; }, its.loop().now() + seconds(20)));
    EXPECT_EQ(worker.add({"x", &Worker::add}).error().code(), Code::invalid) << "not from here";
    EXPECT_EQ(worker.clear().error().code(), Code::invalid) << "nor this";
    return messages[0].body();
  });
  std::optional<Status> ended;
  std::jthread thread([&] { ended = worker.launch(seconds(60)); });
  const auto master = join("master", {{.name = "worker_1"}});
  std::vector<SessionId> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(*master->isend({.tag = "meet", .destination = "worker_1", .body = i}));
  }
  const Replies replies = *master->receive_by_id(ids, seconds(20));
  ASSERT_EQ(replies.messages.size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(replies.messages[i].body(), Value(i));
  worker.stop();
  thread.join();
  EXPECT_TRUE(*ended) << ended->error().describe();
}

TEST_F(ComponentThreads, NeverRunMoreHandlersThanThePoolHasThreads) {
  const auto proxy = group.start("worker_1");
  std::atomic<int> inside = 0;
  std::atomic<int> calls = 0;
  Component<Worker> worker(*proxy, {.pool = 2}, {});
  worker.on("go", [&](Worker&, Proxy&, const Messages&) {
    EXPECT_LE(++inside, 2);
    std::this_thread::yield();
    --inside;
    if (++calls == 200) worker.stop();
  });
  const auto master = join("master", {{.name = "worker_1"}});
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(master->isend(
        {.tag = "go", .destination = "worker_1", .session_type = SessionType::notification}));
  }
  EXPECT_TRUE(worker.launch(seconds(60)));
  EXPECT_EQ(calls, 200);
}

TEST_F(ComponentThreads, EndWithTheErrorOfAPoolsHandlerIfToldTo) {
  const auto proxy = group.start("worker_1");
  Component<Worker> worker(*proxy, {.pool = 2, .policy = ErrorPolicy::stop},
                           {{"bad", [](Worker&, Proxy&, const Messages&) -> Status {
                               return Error(Code::not_found, "no such model");
                             }}});
  const auto master = join("master", {{.name = "worker_1"}});
  const SessionId id = *master->isend({.tag = "bad", .destination = "worker_1"});
  EXPECT_EQ(worker.launch(seconds(60)).error(), Error(Code::not_found, "no such model"));
  const Replies replies = *master->receive_by_id({id}, seconds(20));
  EXPECT_EQ(replies.failures.at(0).error.code(), Code::not_found);
}

// While it lives no thread can be made: there is no room for its stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_init(&before_);
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

TEST_F(ComponentThreads, SayThatTheSystemHasNoThreadsForTheirPool) {
  const auto proxy = group.start("worker_1");
  Component<Worker> worker(*proxy, {.pool = 2}, {{"add", &Worker::add}});
  {
    const NoThreads none;
    const Status ended = worker.launch(milliseconds(20));
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code(), Code::overloaded) << ended.error().describe();
  }
  // Once there are some, it runs.
  EXPECT_EQ(worker.launch(milliseconds(20)).error().code(), Code::timeout);
}

}  // namespace
}  // namespace muster::msg
