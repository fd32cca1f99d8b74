// Queues that are full: who waits, who is told, and what gives way.

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/proxy_threads.h"
#include "muster/msg/testing/three.h"
#include "muster/net/handshake.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::echo;
using testing::Worker;
using wire::Value;

struct ProxyRoom : testing::ThreadsTest {
  ProxyRoom() : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {}
};

TEST_F(ProxyRoom, BlockingSendWaitsForRoomAndIsendSaysOverloaded) {
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

TEST_F(ProxyRoom, BlockingScatterAndBroadcastWaitForRoom) {
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

TEST_F(ProxyRoom, ScatterGivesUpWaitingForRoomAtItsDeadline) {
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

TEST_F(ProxyRoom, WhatNeedsMoreSessionsThanThereAreIsNotSentAtAll) {
  ProxyOptions options = group.options("master");
  options.max_sessions = 3;
  const auto lazy = group.start("worker_1");
  const auto master = group.join(std::move(options), {{.name = "worker_1"}});
  ASSERT_TRUE(master->isend({.tag = "sum", .destination = "worker_1"}));
  const std::uint64_t before = master->peer("worker_1")->messages_sent;
  const std::vector<std::pair<Destination, Value>> bodies = {
      {"worker_1", 1}, {"worker_1", 2}, {"worker_1", 3}};
  EXPECT_EQ(master->iscatter({.tag = "sum"}, bodies).error().code(), Code::overloaded);
  EXPECT_EQ(master->counters().sessions, 1U);
  EXPECT_EQ(master->peer("worker_1")->messages_sent, before);
  // Nor does it help to wait where there never are as many.
  std::vector<std::pair<Destination, Value>> more(4, {"worker_1", 1});
  EXPECT_EQ(master->scatter({.tag = "sum"}, more, seconds(20)).error().code(), Code::overloaded);
}

// A master whose notes pile up before a worker that does not read.
class FullQueue : public testing::Three {
 protected:
  static constexpr int kNotes = 100;

  void fill(DropPolicy policy) {
    group.crash("worker_1");
    group.add("worker_1", [](ProxyOptions& options) {
      options.max_waiting = 1;
      options.window = net::kMinWindow;
    });
    sender = &group.add("sender", [&](ProxyOptions& options) {
      options.max_queued = 400'000;
      options.when_full = policy;
    });
    ASSERT_TRUE(group.settle());
    for (int i = 0; i < kNotes; ++i) {
      const auto sent = sender->isend(note(i));
      ASSERT_TRUE(sent || sent.error().code() == Code::overloaded);
      refused += sent ? 0 : 1;
      group.net.run_for(std::chrono::milliseconds(1));
    }
  }
  static Draft note(int number) {
    return {.tag = "note",
            .destination = "worker_1",
            .body = Value::List{number, Buffer::adopt(std::vector<std::byte>(10'000))},
            .session_type = SessionType::notification};
  }
  // What comes of it once the worker reads.
  std::vector<int> read_all() {
    std::vector<int> numbers;
    for (int i = 0; i < 1000 && numbers.size() + dropped() + refused < kNotes; ++i) {
      while (auto message = *group["worker_1"].receive_once(testing::kNow)) {
        numbers.push_back(static_cast<int>(*message->body().as_list()->at(0).as_integer()));
      }
      group.net.run_for(milliseconds(10));
    }
    return numbers;
  }
  std::uint64_t dropped() { return sender->counters().dropped; }

  Proxy* sender = nullptr;
  std::size_t refused = 0;
};

TEST_F(FullQueue, NotesToManyThatAreRefusedAreToldAndCostNoSession) {
  fill(DropPolicy::refuse);
  testing::events(*sender);
  const std::uint64_t before = sender->counters().dropped;
  const auto ids = sender->iscatter(
      {.tag = "note", .session_type = SessionType::notification, .wants_receipt = false},
      {{"worker_1", Buffer::adopt(std::vector<std::byte>(std::size_t{10} << 10))}});
  ASSERT_TRUE(ids);
  EXPECT_EQ(sender->counters().dropped, before + 1);
  EXPECT_EQ(sender->counters().sessions, 0U);
  const auto event = sender->next_event(testing::kNow);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, ProxyEvent::Kind::dropped);
  EXPECT_EQ(event->peer, "worker_1");
  EXPECT_EQ(event->session, ids->at(0));
}

TEST_F(FullQueue, AFailureForWhichThereIsNoRoomIsSentLater) {
  fill(DropPolicy::refuse);
  const auto asked = *group["worker_1"].isend({.tag = "sum", .destination = "sender"});
  const Message task = testing::take(group, "sender");
  ASSERT_TRUE(sender->fail_soon(task, Error(Code::failed, "no")));
  EXPECT_EQ(sender->fail_soon(task, Error(Code::failed, "no")).error().code(), Code::invalid);
  EXPECT_FALSE(group["worker_1"].is_answered(asked));
  read_all();
  EXPECT_EQ(testing::outcome(group, group["worker_1"], asked).failures.at(0).error.code(),
            Code::failed);
}

TEST_F(FullQueue, RefusesUnlessToldOtherwise) {
  fill(DropPolicy::refuse);
  const auto numbers = read_all();
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(dropped(), 0U);
  EXPECT_EQ(numbers.size() + refused, std::size_t{kNotes});
}

TEST_F(FullQueue, DropsTheOldestWhereTheNewestCount) {
  fill(DropPolicy::oldest);
  EXPECT_LE(sender->peer("worker_1")->queued * 10'000, 400'000U) << "within the limit";
  const auto numbers = read_all();
  EXPECT_EQ(refused, 0U);
  EXPECT_GT(dropped(), 0U);
  ASSERT_EQ(numbers.size() + dropped(), std::size_t{kNotes}) << "each is delivered or told";
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(numbers.end()[-i], kNotes - i);
  std::size_t told = 0;
  while (const auto event = sender->next_event(testing::kNow)) {
    told += event->kind == ProxyEvent::Kind::dropped ? event->count : 0;
  }
  EXPECT_EQ(told, dropped());
}

TEST_F(FullQueue, DropsTheNewestWhereTheFirstCount) {
  fill(DropPolicy::newest);
  const auto numbers = read_all();
  EXPECT_EQ(refused, 0U);
  ASSERT_EQ(numbers.size() + dropped(), std::size_t{kNotes});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(numbers[i], i);
  EXPECT_LT(numbers.size(), std::size_t{kNotes});
}

TEST_F(FullQueue, EndsTheSessionOfANoteThatGaveWay) {
  fill(DropPolicy::newest);
  Draft draft = note(kNotes);
  draft.wants_receipt = true;
  const SessionId id = *sender->isend(draft);
  const auto replies = *sender->receive_by_id({id}, testing::kNow);
  ASSERT_EQ(replies.failures.size(), 1U);
  EXPECT_EQ(replies.failures[0].error.code(), Code::overloaded);
}

TEST_F(FullQueue, GivesWayForNoTask) {
  fill(DropPolicy::oldest);
  Draft draft = note(kNotes);
  draft.session_type = SessionType::task;
  EXPECT_EQ(sender->isend(draft).error().code(), Code::overloaded);
}

TEST_F(FullQueue, HasReceiptsWaitForRoom) {
  fill(DropPolicy::refuse);
  Draft small{.tag = "note", .destination = "worker_1"};
  small.session_type = SessionType::notification;
  while (sender->isend(small)) {
  }
  small.destination = "sender";
  small.wants_receipt = true;
  Proxy& worker = group["worker_1"];
  const SessionId id = *worker.isend(small);
  testing::take(group, "sender");
  group.net.run_for(seconds(1));
  EXPECT_FALSE(worker.is_answered(id)) << "there is no room for it";
  for (int i = 0; i < 1000 && !worker.is_answered(id); ++i) {
    while (*worker.receive_once(testing::kNow)) {
    }
    group.net.run_for(milliseconds(10));
  }
  EXPECT_TRUE(worker.is_answered(id));
}

TEST_F(FullQueue, KeepsWhatWaitedForOneWhoseLinkBreaks) {
  fill(DropPolicy::oldest);
  const std::uint64_t before = dropped();
  const std::size_t queued = sender->peer("worker_1")->queued;
  group.net.break_connections("sender", "worker_1");
  ASSERT_TRUE(group.settle());
  const auto numbers = read_all();
  EXPECT_EQ(numbers.size() + dropped(), std::size_t{kNotes});
  EXPECT_LT(dropped() - before, queued) << "only what was in the link is lost with it";
  EXPECT_EQ(numbers.back(), kNotes - 1);
}

}  // namespace
}  // namespace muster::msg
