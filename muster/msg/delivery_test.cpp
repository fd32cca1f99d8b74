// Delivery at least once between proxies, under virtual time.

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "muster/msg/component.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/memory_stores.h"
#include "muster/msg/testing/three.h"

namespace muster::msg {
namespace {

using std::chrono::seconds;
using testing::events;
using testing::has;
using testing::Kind;
using testing::kNow;
using testing::MemoryOutbox;
using testing::MemoryStore;
using testing::outcome;
using testing::take;
using wire::Value;

class AtLeastOnce : public testing::Three {
 protected:
  static Draft note(int number) {
    return {.tag = "note",
            .destination = "worker_1",
            .body = number,
            .session_type = SessionType::notification,
            .delivery = Delivery::at_least_once};
  }
  bool is_kept_at(const Proxy& proxy, std::size_t count) {
    return group.run_until([&] { return proxy.counters().kept == count; });
  }
};

TEST_F(AtLeastOnce, KeepsAMessageUntilTheReceiverIsDoneWithIt) {
  ASSERT_TRUE(master->isend(note(1)));
  const Message message = take(group, "worker_1");
  EXPECT_TRUE(message.is_kept());
  EXPECT_FALSE(message.is_redelivered());
  group.net.run_for(seconds(10));
  EXPECT_EQ(master->counters().kept, 1U) << "to be taken is not to be handled";
  EXPECT_TRUE(group["worker_1"].done(message));
  EXPECT_TRUE(is_kept_at(*master, 0));
  EXPECT_EQ(group["worker_1"].done(message).error().code(), Code::invalid) << "twice";
}

TEST_F(AtLeastOnce, SendsAgainWithTheSameIdWhatADeadReceiverHasNotAcknowledged) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(master->isend(note(i)));
  EXPECT_TRUE(group["worker_1"].done(take(group, "worker_1")));
  const Message handled = take(group, "worker_1");
  ASSERT_TRUE(is_kept_at(*master, 2));
  group.crash("worker_1");
  group.net.run_for(seconds(5));
  ASSERT_TRUE(master->isend(note(3)));
  group.add("worker_1");
  const Message again = take(group, "worker_1");
  EXPECT_EQ(again.message_id(), handled.message_id());
  EXPECT_EQ(again.body(), Value(1));
  EXPECT_TRUE(again.is_redelivered());
  EXPECT_TRUE(take(group, "worker_1").is_redelivered());
  const Message fresh = take(group, "worker_1");
  EXPECT_EQ(fresh.body(), Value(3));
  EXPECT_FALSE(fresh.is_redelivered());
}

TEST_F(AtLeastOnce, GivesOneIncarnationEachMessageOnceThoughLinksBreak) {
  int next = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(master->isend(note(round * 10 + i)));
    group.net.run_for(std::chrono::microseconds(300));
    group.net.break_connections("master", "worker_1");
    while (auto message = *group["worker_1"].receive_once(kNow)) {
      EXPECT_EQ(message->body(), Value(next++));
      EXPECT_TRUE(group["worker_1"].done(*message));
    }
  }
  while (next < 200) {
    const Message message = take(group, "worker_1");
    ASSERT_EQ(message.body(), Value(next++));
    EXPECT_FALSE(message.is_redelivered());
    EXPECT_TRUE(group["worker_1"].done(message));
  }
  EXPECT_TRUE(is_kept_at(*master, 0));
  EXPECT_EQ(master->counters().dropped, 0U);
  group.net.run_for(seconds(5));
  EXPECT_EQ(group["worker_1"].counters().waiting, 0U);
}

TEST_F(AtLeastOnce, ReceiptsANotificationOnceItIsHandled) {
  Draft draft = note(1);
  draft.wants_receipt = true;
  const SessionId id = *master->isend(draft);
  const Message message = take(group, "worker_1");
  group.net.run_for(seconds(5));
  EXPECT_FALSE(master->is_answered(id));
  EXPECT_TRUE(group["worker_1"].done(message));
  EXPECT_TRUE(outcome(group, *master, id).is_complete());
}

TEST_F(AtLeastOnce, KeepsATaskPastItsReplyUntilItIsDone) {
  const SessionId id = ask("worker_1", {.body = 4, .delivery = Delivery::at_least_once});
  const Message task = take(group, "worker_1");
  ASSERT_TRUE(group["worker_1"].reply(task, 16));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
  EXPECT_EQ(master->counters().kept, 1U) << "a reply is not the end of the handler";
  group.crash("worker_1");
  group.add("worker_1");
  const Message again = take(group, "worker_1");
  EXPECT_EQ(again.message_id(), task.message_id());
  EXPECT_TRUE(group["worker_1"].done(again));
  EXPECT_TRUE(is_kept_at(*master, 0));
}

TEST_F(AtLeastOnce, AnswersATaskThatWasSentAgainToAnotherIncarnation) {
  const SessionId id = ask("worker_1", {.body = 4, .delivery = Delivery::at_least_once});
  take(group, "worker_1");
  group.crash("worker_1");
  group.net.run_for(seconds(5));
  group.add("worker_1");
  ASSERT_TRUE(group["worker_1"].reply(take(group, "worker_1"), 16));
  EXPECT_EQ(outcome(group, *master, id).messages.at(0).body(), Value(16));
}

TEST_F(AtLeastOnce, SaysOverloadedWhenTooMuchIsKeptAndHasRoomOnceSomeIsDone) {
  Proxy& sender = group.add("sender", [](ProxyOptions& options) {
    options.kept = {.max_messages = 3, .max_bytes = 1 << 20};
  });
  ASSERT_TRUE(group.settle());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender.isend(note(i)));
  EXPECT_EQ(sender.isend(note(3)).error().code(), Code::overloaded);
  EXPECT_EQ(sender.peer("worker_1")->kept, 3U);
  EXPECT_TRUE(group["worker_1"].done(take(group, "worker_1")));
  ASSERT_TRUE(is_kept_at(sender, 2));
  EXPECT_TRUE(sender.isend(note(4)));
  Draft large = note(5);
  large.destination = "worker_2";
  large.body = Buffer::adopt(std::vector<std::byte>(2 << 20));
  EXPECT_EQ(sender.isend(large).error().code(), Code::overloaded);
}

TEST_F(AtLeastOnce, TellsOfWhatIsDroppedBecauseTheReceiverRefusesOrLeaves) {
  Draft draft = note(1);
  draft.wants_receipt = true;
  const SessionId refused = *master->isend(draft);
  const SessionId left = *master->isend(draft);
  Proxy& worker = group["worker_1"];
  EXPECT_TRUE(worker.refuse(take(group, "worker_1"), Error(Code::unsupported, "not by me")));
  EXPECT_EQ(outcome(group, *master, refused).failures.at(0).error.code(), Code::unsupported);
  EXPECT_EQ(master->counters().dropped, 1U);
  static_cast<void>(worker.leave(kNow));
  EXPECT_EQ(outcome(group, *master, left).failures.at(0).error.code(), Code::unavailable);
  EXPECT_EQ(master->counters().dropped, 2U);
  EXPECT_EQ(master->counters().kept, 0U);
  EXPECT_TRUE(has(events(*master), Kind::dropped));
}

TEST_F(AtLeastOnce, GivesUpAtTheDeadlineOfAMessageForOneWhoIsAway) {
  group.crash("worker_1");
  ASSERT_TRUE(
      group.run_until([&] { return master->peer("worker_1")->presence == Presence::lost; }));
  Draft draft = note(1);
  draft.deadline = group.net.now() + seconds(5);
  ASSERT_TRUE(master->isend(draft));
  ASSERT_TRUE(master->isend(note(2)));
  group.net.run_for(seconds(10));
  group.add("worker_1");
  EXPECT_EQ(take(group, "worker_1").body(), Value(2));
  EXPECT_EQ(master->counters().dropped, 1U);
}

TEST_F(AtLeastOnce, IsExactlyOnceWithAStoreThoughTheReceiverDies) {
  MemoryStore store;
  const auto with_store = [&](ProxyOptions& options) { options.dedup = &store; };
  group.crash("worker_1");
  group.add("worker_1", with_store);
  ASSERT_TRUE(group.settle());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(master->isend(note(i)));
  // Handled and committed, but its sender never hears of it.
  const Message first = take(group, "worker_1");
  store.ids.insert({{std::string(first.source()), first.message_id()}, Buffer()});
  group.crash("worker_1");
  group.add("worker_1", with_store);
  EXPECT_EQ(take(group, "worker_1").body(), Value(1));
  const Message last = take(group, "worker_1");
  EXPECT_EQ(last.body(), Value(2));
  EXPECT_TRUE(group["worker_1"].done(last));
  ASSERT_TRUE(is_kept_at(*master, 1));
  // Once the sender has heard, nothing needs to be remembered.
  ASSERT_TRUE(master->isend(note(3)));
  take(group, "worker_1");
  static_cast<void>(group["worker_1"].receive_once(kNow));
  EXPECT_TRUE(store.ids.empty());
}

TEST_F(AtLeastOnce, IsNotDoneBeforeItIsCommitted) {
  MemoryStore store;
  store.is_broken = true;
  group.crash("worker_1");
  Proxy& worker = group.add("worker_1", [&](ProxyOptions& options) { options.dedup = &store; });
  ASSERT_TRUE(group.settle());
  ASSERT_TRUE(master->isend(note(1)));
  const Message message = take(group, "worker_1");
  EXPECT_EQ(worker.done(message).error().code(), Code::unavailable);
  group.net.run_for(seconds(1));
  EXPECT_EQ(master->counters().kept, 1U);
  store.is_broken = false;
  EXPECT_TRUE(worker.done(message));
  EXPECT_TRUE(is_kept_at(*master, 0));
}

TEST_F(AtLeastOnce, SurvivesTheDeathOfTheSenderWithAnOutbox) {
  MemoryOutbox outbox;
  const auto with_outbox = [&](ProxyOptions& options) { options.outbox = &outbox; };
  Proxy& sender = group.add("sender", with_outbox);
  ASSERT_TRUE(group.settle());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender.isend(note(i)));
  EXPECT_EQ(outbox.messages.size(), 3U);
  const Message first = take(group, "worker_1");
  const Message second = take(group, "worker_1");
  EXPECT_TRUE(group["worker_1"].done(first));
  ASSERT_TRUE(is_kept_at(sender, 2));
  group.crash("sender");
  EXPECT_TRUE(group["worker_1"].done(second)) << "nobody hears of it now";
  const Message third = take(group, "worker_1");
  EXPECT_EQ(third.body(), Value(2));
  Proxy& next = group.add("sender", with_outbox);
  ASSERT_TRUE(group.settle());
  ASSERT_TRUE(is_kept_at(next, 1)) << "what the receiver still has is not sent again";
  EXPECT_EQ(group["worker_1"].counters().waiting, 0U);
  EXPECT_TRUE(group["worker_1"].done(third));
  ASSERT_TRUE(is_kept_at(next, 0));
  ASSERT_TRUE(next.isend(note(3)));
  EXPECT_EQ(take(group, "worker_1").body(), Value(3));
  EXPECT_EQ(outbox.messages.size(), 1U) << "what is done goes from the store";
}

TEST_F(AtLeastOnce, SendsWhatAnOutboxHasToWhoeverReturns) {
  MemoryOutbox outbox;
  const auto with_outbox = [&](ProxyOptions& options) { options.outbox = &outbox; };
  Proxy& sender = group.add("sender", with_outbox);
  ASSERT_TRUE(group.settle());
  group.crash("worker_1");
  ASSERT_TRUE(group.run_until([&] { return sender.peer("worker_1")->presence == Presence::lost; }));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender.isend(note(i)));
  group.crash("sender");
  group.add("sender", with_outbox);
  group.add("worker_1");
  for (int i = 0; i < 3; ++i) {
    const Message message = take(group, "worker_1");
    EXPECT_EQ(message.body(), Value(i));
    EXPECT_TRUE(message.is_redelivered());
  }
}

TEST_F(AtLeastOnce, SendsNothingThatTheOutboxCouldNotKeep) {
  MemoryOutbox outbox;
  outbox.is_broken = true;
  Proxy& sender = group.add("sender", [&](ProxyOptions& options) { options.outbox = &outbox; });
  ASSERT_TRUE(group.settle());
  EXPECT_EQ(sender.isend(note(1)).error().code(), Code::unavailable);
  outbox.is_broken = false;
  ASSERT_TRUE(sender.isend(note(2)));
  EXPECT_EQ(take(group, "worker_1").body(), Value(2));
  EXPECT_EQ(sender.counters().kept, 1U);
}

TEST_F(AtLeastOnce, IsReportedWhenTheSenderEndsWithoutAnOutbox) {
  ASSERT_TRUE(master->isend(note(1)));
  take(group, "worker_1");
  static_cast<void>(master->leave(kNow));
  EXPECT_EQ(master->counters().dropped, 1U);
  EXPECT_TRUE(has(events(*master), Kind::dropped));
}

TEST_F(AtLeastOnce, IsDoneByAComponentOnlyWhenItsHandlersHaveReturned) {
  Component<int> worker(group["worker_1"]);
  std::size_t kept_inside = 0;
  worker.on("note", [&](int&, Proxy&, auto) {
    group.net.run_for(seconds(1));
    kept_inside += master->counters().kept;
  });
  worker.on("note", [&](int&, Proxy&, auto) {
    group.net.run_for(seconds(1));
    kept_inside += master->counters().kept;
    worker.stop();
  });
  ASSERT_TRUE(master->isend(note(1)));
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting > 0; }));
  EXPECT_TRUE(worker.launch(kNow));
  EXPECT_EQ(kept_inside, 2U) << "both ran while it was kept";
  EXPECT_TRUE(is_kept_at(*master, 0));
}

TEST_F(AtLeastOnce, IsDoneThoughAnotherEventThatWaitedForItIsRemoved) {
  Component<int> worker(group["worker_1"]);
  const EventId rare = *worker.add({"*:note:1000", [](int&, Proxy&, auto) {}});
  worker.on("note", [](int&, Proxy&, auto) {});
  ASSERT_TRUE(master->isend(note(1)));
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting > 0; }));
  static_cast<void>(worker.launch(kNow));
  group.net.run_for(seconds(1));
  EXPECT_EQ(master->counters().kept, 1U) << "the other event has it still";
  EXPECT_EQ(worker.remove(rare)->size(), 1U);
  EXPECT_TRUE(is_kept_at(*master, 0));
  // What no handler has had is for who gets it back.
  const EventId other = *worker.add({"*:other:1000", [](int&, Proxy&, auto) {}});
  Draft draft = note(2);
  draft.tag = "other";
  ASSERT_TRUE(master->isend(draft));
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting > 0; }));
  static_cast<void>(worker.launch(kNow));
  const auto given = worker.remove(other);
  ASSERT_EQ(given->size(), 1U);
  EXPECT_TRUE(group["worker_1"].done(*given));
  EXPECT_TRUE(is_kept_at(*master, 0));
}

TEST_F(AtLeastOnce, IsDoneThoughAHandlerThrowsAndRefusedWhereNoEventWaitsForIt) {
  int reported = 0;
  Component<int> worker(group["worker_1"],
                        {.report =
                             [&](const HandlerFailure& failure) {
                               reported += static_cast<int>(failure.messages.size());
                             }},
                        {{"note", [](int&, Proxy&, auto) { throw std::runtime_error("no"); }}});
  ASSERT_TRUE(master->isend(note(1)));
  Draft other = note(2);
  other.tag = "other";
  ASSERT_TRUE(master->isend(other));
  ASSERT_TRUE(group.run_until([&] { return group["worker_1"].counters().waiting == 2; }));
  static_cast<void>(worker.launch(kNow));
  static_cast<void>(worker.launch(kNow));
  EXPECT_EQ(reported, 1);
  EXPECT_TRUE(is_kept_at(*master, 0));
  EXPECT_EQ(master->counters().dropped, 1U) << "the one that nobody waits for";
}

}  // namespace
}  // namespace muster::msg
