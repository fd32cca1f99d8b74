// Delivery at least once where the sender leaves before all is done, under virtual time.

#include <string>

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/memory_stores.h"
#include "muster/msg/testing/three.h"

namespace muster::msg {
namespace {

using std::chrono::seconds;
using testing::kNow;
using testing::MemoryOutbox;
using testing::MemoryStore;
using testing::take;
using wire::Value;

// A sender, with an outbox or without, and a worker with a store of what it has handled.
class LeavingSender : public testing::Three {
 protected:
  LeavingSender() {
    group.crash("worker_1");
    worker = &group.add("worker_1", [&](ProxyOptions& options) { options.dedup = &store; });
    start(&outbox);
  }
  ~LeavingSender() override {
    if (group.has("sender")) group.crash("sender");  // Before its outbox.
    group.crash("worker_1");
  }
  void start(OutboxStore* its_outbox) {
    sender = &group.add("sender", [&](ProxyOptions& options) { options.outbox = its_outbox; });
    EXPECT_TRUE(group.settle());
  }
  Message send_and_take(int number) {
    EXPECT_TRUE(sender->isend({.tag = "note",
                               .destination = "worker_1",
                               .body = number,
                               .session_type = SessionType::notification,
                               .delivery = Delivery::at_least_once}));
    return take(group, "worker_1");
  }
  // Its link has ended, and not only its farewell come.
  void see_it_off() {
    static_cast<void>(sender->leave(kNow));
    group.net.run_for(seconds(5));
    EXPECT_EQ(worker->peer("sender")->presence, Presence::left);
    group.crash("sender");
  }
  void come_back() { start(&outbox); }
  bool is_kept_at(std::size_t count) {
    return group.run_until([&] { return sender->counters().kept == count; });
  }
  // Lets the store forget what the sender knows.
  std::size_t remembered() {
    static_cast<void>(worker->receive_once(kNow));
    return store.ids.size();
  }

  MemoryOutbox outbox;
  MemoryStore store;
  Proxy* sender = nullptr;
  Proxy* worker = nullptr;
};

TEST_F(LeavingSender, DoesNotSendAgainWhatIsBeingHandledWhenItReturns) {
  const Message message = send_and_take(1);
  see_it_off();
  come_back();
  group.net.run_for(seconds(5));
  EXPECT_EQ(worker->counters().waiting, 0U) << "it is here, and must not come twice";
  EXPECT_EQ(sender->counters().kept, 1U);
  EXPECT_TRUE(worker->done(message));
  EXPECT_TRUE(is_kept_at(0));
}

TEST_F(LeavingSender, HearsWhenItReturnsWhatWasDoneMeanwhile) {
  const Message message = send_and_take(1);
  see_it_off();
  EXPECT_TRUE(worker->done(message));
  EXPECT_EQ(worker->done(message).error().code(), Code::invalid) << "twice";
  EXPECT_EQ(remembered(), 1U);
  come_back();
  EXPECT_TRUE(is_kept_at(0));
  EXPECT_EQ(send_and_take(2).body(), Value(2)) << "the first does not come again";
  EXPECT_EQ(outbox.messages.size(), 1U);
  EXPECT_EQ(send_and_take(3).body(), Value(3));
  EXPECT_EQ(remembered(), 0U) << "which the worker need not remember any more";
}

TEST_F(LeavingSender, IsRememberedThoughItsFarewellCrossesWhatIsDone) {
  const Message message = send_and_take(1);
  outbox.is_broken = true;  // It ends before it has written that the message is done.
  static_cast<void>(sender->leave(kNow));
  EXPECT_TRUE(worker->done(message)) << "the farewell has not come yet";
  see_it_off();
  outbox.is_broken = false;
  EXPECT_EQ(remembered(), 1U);
  come_back();
  EXPECT_TRUE(is_kept_at(0));
  EXPECT_EQ(send_and_take(2).body(), Value(2)) << "the first does not come again";
}

TEST_F(LeavingSender, WritesWhatIsDoneWhileItLeaves) {
  const Message message = send_and_take(1);
  static_cast<void>(sender->leave(kNow));
  EXPECT_EQ(outbox.messages.size(), 1U);
  EXPECT_TRUE(worker->done(message));
  group.net.run_for(seconds(5));
  EXPECT_TRUE(sender->leave(kNow));
  EXPECT_TRUE(outbox.messages.empty());
}

TEST_F(LeavingSender, IsForgottenIfItHasNoOutboxWheneverItsMessagesAreDone) {
  group.crash("sender");
  start(nullptr);
  const Message first = send_and_take(1);
  const Message second = send_and_take(2);
  EXPECT_TRUE(worker->done(first));
  EXPECT_EQ(remembered(), 1U);
  see_it_off();
  EXPECT_EQ(remembered(), 0U);
  EXPECT_TRUE(worker->done(second)) << "nobody wants to know";
  EXPECT_FALSE(worker->done(second)) << "twice";
  EXPECT_EQ(remembered(), 0U);
}

TEST_F(LeavingSender, MayReturnBeforeItsMessagesAreDone) {
  group.crash("sender");
  start(nullptr);
  const Message message = send_and_take(1);
  see_it_off();
  start(nullptr);
  EXPECT_TRUE(worker->done(message)) << "it is the first time";
  EXPECT_EQ(worker->done(message).error().code(), Code::invalid);
  EXPECT_EQ(remembered(), 0U);
}

TEST_F(LeavingSender, IsForgottenWithAllThatItMaySendAgainBeyondTheLimitOfTheAbsent) {
  group.crash("worker_1");
  worker = &group.add("worker_1", [&](ProxyOptions& options) {
    options.dedup = &store;
    options.max_absent_peers = 1;
  });
  ASSERT_TRUE(group.settle());
  EXPECT_TRUE(worker->done(send_and_take(1)));
  see_it_off();
  const auto leave = [&](const std::string& name) {
    static_cast<void>(group[name].leave(kNow));
    group.net.run_for(seconds(5));
    group.crash(name);
  };
  leave("worker_2");
  EXPECT_FALSE(worker->peer("worker_2")) << "which has nothing to send again";
  EXPECT_TRUE(worker->peer("sender"));
  EXPECT_EQ(remembered(), 1U);
  group.crash("master");
  group.net.run_for(seconds(5));
  EXPECT_EQ(worker->report().peers.size(), 1U);
}

}  // namespace
}  // namespace muster::msg
