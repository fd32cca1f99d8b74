// Several sessions at once: scatter, broadcast, collect.

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
using wire::Value;

struct ProxyMany : testing::ThreadsTest {
  ProxyMany() : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {}
};

TEST_F(ProxyMany, ReceiveByIdGivesWhatHasComeByTheDeadline) {
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

TEST_F(ProxyMany, ScatterWritesABodyThatGoesToSeveralOnce) {
  std::vector<std::unique_ptr<Proxy>> readers;
  for (int i = 1; i <= 3; ++i) {
    ProxyOptions options = group.options("reader_" + std::to_string(i));
    options.keeps_encoded = true;
    readers.push_back(*Proxy::start(group.loop(), std::move(options)));
  }
  const auto master = join("master", {{.type = "reader", .count = 3}});
  const auto body = [](int number) { return Value::Map{{"a", Value::List{number, "x"}}}; };
  ASSERT_TRUE(master->iscatter(
      {.tag = "go"}, {{"reader_1", body(1)}, {"reader_2", body(2)}, {"reader_3", body(1)}}));
  std::vector<Message> got;  // Kept, so that no memory is used twice.
  for (const auto& reader : readers) got.push_back(**reader->receive_once(seconds(20)));
  const auto where = [&](int reader) { return got[reader].encoded()->parts[0].data(); };
  EXPECT_EQ(where(0), where(2)) << "an equal one is the same bytes";
  EXPECT_NE(where(0), where(1));
}

TEST_F(ProxyMany, BroadcastGathersRepliesThatNameTheirSenders) {
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

TEST_F(ProxyMany, CollectReturnsWithEnoughAfterTheGrace) {
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

// Three workers of which some answer, one fails and one is silent.
class Collect : public ProxyMany {
 protected:
  void SetUp() override {
    master = join("master", {{.type = "worker", .count = 3}});
    ids = *master->ibroadcast(Audience::type("worker"), {.tag = "go"});
    for (auto* worker : {&one, &two, &three}) {
      tasks.push_back(**(*worker)->receive_once(seconds(20)));
    }
  }
  void answer(std::size_t which) {
    Proxy& worker = *(which == 0 ? one : which == 1 ? two : three);
    ASSERT_TRUE(worker.reply(tasks[which], static_cast<int>(which)));
    ASSERT_TRUE(group.loop().wait_until([&] { return master->is_answered(ids[which]); },
                                        group.loop().now() + seconds(20)));
  }

  std::unique_ptr<Proxy> one = group.start("worker_1");
  std::unique_ptr<Proxy> two = group.start("worker_2");
  std::unique_ptr<Proxy> three = group.start("worker_3");
  std::unique_ptr<Proxy> master;
  std::vector<SessionId> ids;
  std::vector<Message> tasks;
};

TEST_F(Collect, RoundsAFractionUp) {
  answer(0);
  const auto begin = group.loop().now();
  const auto one_of_three =
      master->collect(ids, {.fraction = 0.33, .cancels_rest = false}, seconds(60));
  EXPECT_EQ(one_of_three->messages.size(), 1U);
  EXPECT_LT(group.loop().now() - begin, seconds(50)) << "one is a third";
  const auto rest = one_of_three->missing;
  const auto again = group.loop().now();
  EXPECT_EQ(master->collect(rest, {.fraction = 0.01}, milliseconds(50))->messages.size(), 0U);
  EXPECT_GE(group.loop().now() - again, milliseconds(50)) << "a little of two is one";
}

TEST_F(Collect, WaitsForMoreWhileThereIsGraceAndNotLongerThanForAll) {
  answer(0);
  answer(1);
  std::jthread late([this] { EXPECT_TRUE(three->reply(tasks[2])); });
  const auto begin = group.loop().now();
  const auto replies = master->collect(ids, {.count = 2, .grace = seconds(60)}, seconds(120));
  EXPECT_EQ(replies->messages.size(), 3U);
  EXPECT_LT(group.loop().now() - begin, seconds(50)) << "all are there: nobody waits for the rest";
}

TEST_F(Collect, CountsNoFailureAsAReply) {
  ASSERT_TRUE(one->fail(tasks[0], Error(Code::failed, "no")));
  answer(1);
  const auto begin = group.loop().now();
  const auto some = master->collect(ids, {.count = 2, .cancels_rest = false}, milliseconds(50));
  EXPECT_GE(group.loop().now() - begin, milliseconds(50)) << "one is not enough";
  EXPECT_EQ(some->messages.size(), 1U);
  EXPECT_EQ(some->failures.size(), 1U);
  EXPECT_EQ(some->missing, std::vector{ids[2]}) << "and is not cancelled";
  answer(2);
  EXPECT_EQ(master->receive_by_id(some->missing, seconds(20))->messages.size(), 1U);
}

TEST_F(Collect, EndsWhenNoMoreCanComeThoughThereAreTooFew) {
  ASSERT_TRUE(one->fail(tasks[0], Error(Code::failed, "no")));
  ASSERT_TRUE(two->fail(tasks[1], Error(Code::failed, "no")));
  answer(2);
  const auto replies = master->collect(ids, {.count = 2}, seconds(60));
  EXPECT_EQ(replies->messages.size(), 1U);
  EXPECT_EQ(replies->failures.size(), 2U);
}

}  // namespace
}  // namespace muster::msg
