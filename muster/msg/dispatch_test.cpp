// A stream of tasks to workers that are idle, that come, and that go.

#include "muster/msg/dispatch.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/proxy_threads.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::echo;
using testing::Worker;

struct Dispatching : testing::ThreadsTest {
  Dispatching() : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {}
};

TEST_F(Dispatching, GivesTasksToIdleWorkers) {
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
      [&](const Draft&, const Result<Message>& result) {
        if (result) results.insert(*result->body().as_integer());
      },
      seconds(60));
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->done, 200U);
  EXPECT_EQ(results.size(), 200U);
  EXPECT_GT(one.count, 0);
  EXPECT_GT(two.count, 0);
}

TEST_F(Dispatching, EndsAtItsDeadlineWithoutWorkers) {
  const auto master = join("master", {});
  Dispatch dispatch(*master, {});
  const auto report =
      dispatch.run([] { return std::optional(Draft{.tag = "work"}); }, nullptr, milliseconds(50));
  EXPECT_EQ(report.error().code(), Code::timeout);
}

// Gives out numbers up to `count` and notes what came of each.
struct Stream {
  Dispatch::Next next(int count) {
    return [this, count]() -> std::optional<Draft> {
      if (given == count) return std::nullopt;
      return Draft{.tag = "work", .body = given++};
    };
  }
  Dispatch::Done done() {
    return [this](const Draft& task, const Result<Message>& result) {
      ++(result ? answered : failed)[*task.body.as_integer()];
    };
  }
  int given = 0;
  std::map<std::int64_t, int> answered;
  std::map<std::int64_t, int> failed;
};

TEST_F(Dispatching, GivesTheTasksOfALostWorkerToOthers) {
  auto doomed = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  Stream stream;
  std::jthread fate([&] {
    // It takes one, and dies; only then another comes.
    EXPECT_TRUE(doomed->receive_once(seconds(20))->has_value());
    doomed.reset();
  });
  std::unique_ptr<Worker> other;
  Dispatch dispatch(*master, {.workers = Audience::type("worker")});
  std::jthread rescue([&] {
    fate.join();
    other = std::make_unique<Worker>(group, "worker_2", echo);
  });
  const auto report = dispatch.run(stream.next(5), stream.done(), seconds(60));
  rescue.join();
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->done, 5U);
  EXPECT_EQ(report->given_again, 1U);
  EXPECT_EQ(report->failed, 0U);
  EXPECT_EQ(stream.answered.size(), 5U);
}

TEST_F(Dispatching, GivesATaskOnceWhoseHandlerFailsAsIfAWorkerWereLost) {
  const auto worker = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  std::atomic<int> runs = 0;
  std::jthread handler([&](const std::stop_token& stop) {
    for (const Message& message : worker->receive(Wait(stop))) {
      ++runs;
      EXPECT_TRUE(worker->fail(message, Error(Code::unavailable, "its database is away")));
    }
  });
  Stream stream;
  Dispatch dispatch(*master, {.workers = Audience::type("worker")});
  const auto report = dispatch.run(stream.next(1), stream.done(), seconds(60));
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->failed, 1U);
  EXPECT_EQ(report->given_again, 0U);
  EXPECT_EQ(runs, 1);
}

TEST_F(Dispatching, GivesUpATaskThatNobodySurvives) {
  auto doomed = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  Stream stream;
  std::jthread fate([&] {
    EXPECT_TRUE(doomed->receive_once(seconds(20))->has_value());
    doomed.reset();
  });
  Dispatch dispatch(*master, {.workers = Audience::type("worker"), .max_tries = 1});
  const auto report = dispatch.run(stream.next(1), stream.done(), seconds(60));
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->failed, 1U);
  EXPECT_EQ(stream.failed[0], 1);
}

TEST_F(Dispatching, GivesAWorkerNoMoreThanItMayHave) {
  std::atomic<int> most{0};
  const auto lazy = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  std::jthread slow([&] {
    for (int i = 0; i < 20; ++i) {
      const Message task = **lazy->receive_once(seconds(20));
      most = std::max(most.load(), static_cast<int>(lazy->counters().waiting) + 1);
      EXPECT_TRUE(lazy->reply(task));
    }
  });
  Stream stream;
  Dispatch dispatch(*master, {.per_worker = 2});
  ASSERT_TRUE(dispatch.run(stream.next(20), stream.done(), seconds(60)));
  EXPECT_LE(most, 2);
}

TEST_F(Dispatching, CancelsWhatIsUnderWayAtItsDeadline) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  Stream stream;
  Dispatch dispatch(*master, {});
  const auto report = dispatch.run(stream.next(3), stream.done(), milliseconds(50));
  EXPECT_EQ(report.error().code(), Code::timeout);
  EXPECT_EQ(master->counters().open_sessions, 0U);
  EXPECT_TRUE(stream.answered.empty());
}

TEST_F(Dispatching, WaitsForRoomInsteadOfFailingTasks) {
  ProxyOptions options = group.options("master");
  options.max_sessions = 2;
  options.expected = {{.name = "worker_1"}};
  Worker worker(group, "worker_1", echo);
  const auto master = *Proxy::join(group.loop(), std::move(options), seconds(20));
  Stream stream;
  Dispatch dispatch(*master, {.per_worker = 10});
  const auto report = dispatch.run(stream.next(50), stream.done(), seconds(60));
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->done, 50U);
  EXPECT_EQ(report->failed, 0U);
}

TEST_F(Dispatching, EndsWithItsProxy) {
  const auto master = join("master", {});
  std::jthread other([&] { EXPECT_TRUE(master->leave(seconds(20))); });
  Stream stream;
  Dispatch dispatch(*master, {});
  const auto report = dispatch.run(stream.next(1), stream.done(), seconds(60));
  EXPECT_EQ(report.error().code(), Code::cancelled);
}

}  // namespace
}  // namespace muster::msg
