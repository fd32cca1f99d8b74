// Replies to tasks that are handled at least once: whoever asked gets one, or hears
// why there is none, though links break and processes die in between.

#include <string>

#include <gtest/gtest.h>

#include "muster/msg/component.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/memory_stores.h"
#include "muster/msg/testing/three.h"

namespace muster::msg {
namespace {

using std::chrono::seconds;
using testing::kNow;
using testing::MemoryStore;
using testing::outcome;
using testing::take;
using wire::Value;

class KeptReplies : public testing::Three {
 protected:
  SessionId ask_for_sure(int number) {
    return ask("worker_1", {.body = number, .delivery = Delivery::at_least_once});
  }
  void restart(const std::function<void(ProxyOptions&)>& tweak = nullptr) {
    group.crash("worker_1");
    group.add("worker_1", tweak);
    ASSERT_TRUE(group.settle());
  }
  // What it has said and nobody has heard yet is lost; a new link follows.
  void break_link() { group.net.break_connections("master", "worker_1"); }
  bool is_kept_at(std::size_t count) {
    return group.run_until([&] { return master->counters().kept == count; });
  }

  MemoryStore store;
  const std::function<void(ProxyOptions&)> with_store = [this](ProxyOptions& options) {
    options.dedup = &store;
  };
};

TEST_F(KeptReplies, ComeAgainWhereTheirLinkTookThemWithIt) {
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  ASSERT_TRUE(group["worker_1"].done(task));
  break_link();
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
  EXPECT_TRUE(is_kept_at(0));
  group.net.run_for(seconds(5));
  EXPECT_EQ(group["worker_1"].counters().waiting, 0U) << "it is not handled again";
  EXPECT_EQ(master->counters().unwanted, 0U);
}

TEST_F(KeptReplies, MayBeGivenWhileThereIsNoLink) {
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  group.net.part("master", "worker_1");
  ASSERT_TRUE(group.run_until(
      [&] { return group["worker_1"].peer("master")->presence != Presence::here; }));
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  ASSERT_TRUE(group["worker_1"].done(task));
  group.net.join("master", "worker_1");
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
}

TEST_F(KeptReplies, AreTakenOnceHoweverOftenTheyCome) {
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
  for (int i = 0; i < 3; ++i) {
    break_link();
    ASSERT_TRUE(
        group.run_until([&] { return master->peer("worker_1")->presence != Presence::here; }));
    ASSERT_TRUE(group.settle());
  }
  ASSERT_TRUE(group["worker_1"].done(task));
  EXPECT_TRUE(is_kept_at(0));
  EXPECT_EQ(master->counters().unwanted, 0U) << "that it came again is nobody's fault";
}

TEST_F(KeptReplies, OfADeadWorkerComeFromItsStore) {
  restart(with_store);
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  ASSERT_TRUE(group["worker_1"].done(task));
  restart(with_store);
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
  EXPECT_TRUE(is_kept_at(0));
  EXPECT_EQ(group["worker_1"].counters().waiting, 0U) << "it is not handled again";
  // Once the sender has heard, nothing needs to be remembered.
  ask_for_sure(5);
  take(group, "worker_1");
  static_cast<void>(group["worker_1"].receive_once(kNow));
  EXPECT_TRUE(store.ids.empty());
}

TEST_F(KeptReplies, ThatAreFailuresComeFromTheStoreToo) {
  restart(with_store);
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].fail(task, Error(Code::unsupported, "no squares")));
  ASSERT_TRUE(group["worker_1"].done(task));
  restart(with_store);
  EXPECT_EQ(outcome(group, *master, id).failures.at(0).error,
            Error(Code::unsupported, "worker_1: no squares"));
}

TEST_F(KeptReplies, ThatWereLostThoughTheTaskWasHandledAreToldAsThat) {
  restart(with_store);
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  // Its effect is committed; then it dies.
  store.ids.insert({{std::string(task.source()), task.message_id()}, Buffer()});
  restart(with_store);
  const Replies replies = outcome(group, *master, id);
  ASSERT_EQ(replies.failures.size(), 1U);
  EXPECT_EQ(replies.failures[0].error.code(), Code::failed);
  EXPECT_NE(replies.failures[0].error.message().find("worker_1 has handled this task"),
            std::string::npos);
  EXPECT_TRUE(is_kept_at(0));
  EXPECT_EQ(group["worker_1"].counters().waiting, 0U);
}

TEST_F(KeptReplies, OfADeadWorkerWithoutAStoreAreMadeAnew) {
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  ASSERT_TRUE(group["worker_1"].done(task));
  restart();
  const Message again = take(group, "worker_1");
  EXPECT_EQ(again.message_id(), task.message_id());
  EXPECT_TRUE(again.is_redelivered());
  ASSERT_TRUE(group["worker_1"].reply(again, 17));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(17));
}

TEST_F(KeptReplies, ThatAHandlerHasNotGivenByItsReturnEndWithTheLink) {
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].done(task));
  ASSERT_TRUE(is_kept_at(0));
  group.net.run_for(seconds(5));
  EXPECT_FALSE(master->is_answered(id)) << "it may still come";
  break_link();
  EXPECT_EQ(outcome(group, *master, id).failures.at(0).error.code(), Code::unavailable);
}

TEST_F(KeptReplies, MayComeLongAfterTheHandlerHasReturned) {
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].done(task));
  group.net.run_for(seconds(5));
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
}

TEST_F(KeptReplies, AboveTheLimitAreLostWithTheLink) {
  restart([](ProxyOptions& options) { options.kept.max_reply_bytes = 1000; });
  const SessionId id = ask_for_sure(4);
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(task, std::string(2000, 'x')));
  ASSERT_TRUE(group["worker_1"].done(task));
  break_link();
  EXPECT_EQ(outcome(group, *master, id).failures.at(0).error.code(), Code::failed);
  // And it may come in the end: this one's link holds.
  const SessionId last = ask_for_sure(5);
  const Message other = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(other, std::string(2000, 'y')));
  EXPECT_EQ(outcome(group, *master, last).messages.at(0).body(), Value(std::string(2000, 'y')));
}

TEST_F(KeptReplies, OfManyTasksAllComeThoughLinksBreakAllTheTime) {
  const auto serve_for = [&](Duration time) {
    group.net.run_for(time);
    while (auto task = *group["worker_1"].receive_once(kNow)) {
      EXPECT_TRUE(group["worker_1"].reply(*task, task->body()));
      EXPECT_TRUE(group["worker_1"].done(*task));
    }
  };
  std::vector<SessionId> ids;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) ids.push_back(ask_for_sure(round * 10 + i));
    serve_for(round % 2 == 0 ? Duration(std::chrono::microseconds(300)) : Duration(seconds(1)));
    break_link();
  }
  for (int i = 0; i < 100 && master->counters().kept > 0; ++i) serve_for(seconds(1));
  EXPECT_EQ(master->counters().kept, 0U);
  const Replies replies = *master->receive_by_id(ids, kNow);
  EXPECT_TRUE(replies.is_complete());
  ASSERT_EQ(replies.messages.size(), 200U);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(replies.messages[i].body(), Value(i));
  EXPECT_EQ(master->counters().unwanted, 0U);
}

TEST_F(KeptReplies, ThatAComponentsHandlerReturnsAreKept) {
  restart(with_store);
  const SessionId id = ask_for_sure(4);
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting > 0; }));
  {
    Component<int> worker(group["worker_1"]);
    worker.on("sum", [&](int&, Proxy&, auto messages) -> Result<Value> {
      worker.stop();
      return Value(*messages[0].body().as_integer() * 2);
    });
    EXPECT_TRUE(worker.launch(kNow));
  }
  restart(with_store);
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(8));
}

}  // namespace
}  // namespace muster::msg
