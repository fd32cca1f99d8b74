// What waited for a peer that was away, when it is here again and its link has less
// room than there is to send.

#include <vector>

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/three.h"
#include "muster/net/handshake.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::kNow;
using wire::Value;

class Return : public testing::Three {
 protected:
  static constexpr int kCount = 100;

  // A sender whose link holds a tenth of what it caches, and worker_1 is away.
  void part(DropPolicy when_full = DropPolicy::refuse) {
    sender = &group.add("sender", [&](ProxyOptions& options) {
      options.max_queued = 100'000;
      options.when_full = when_full;
    });
    ASSERT_TRUE(group.settle());
    group.crash("worker_1");
    ASSERT_TRUE(
        group.run_until([&] { return sender->peer("worker_1")->presence == Presence::lost; }));
  }
  // It returns, and reads only when it is told to.
  void meet_again() {
    group.add("worker_1", [](ProxyOptions& options) {
      options.max_waiting = 1;
      options.window = net::kMinWindow;
    });
    ASSERT_TRUE(group.settle());
  }
  static Draft note(int number) {
    return {.tag = "note",
            .destination = "worker_1",
            .body = Value::List{number, Buffer::adopt(std::vector<std::byte>(10'000))},
            .session_type = SessionType::notification};
  }
  static Draft task(int number) {
    Draft draft = note(number);
    draft.session_type = SessionType::task;
    draft.on_loss = OnLoss::wait;
    return draft;
  }
  static int number_of(const Message& message) {
    return static_cast<int>(*message.body().as_list()->at(0).as_integer());
  }
  // All that comes until nothing does; tasks are answered.
  std::vector<int> read_all() {
    std::vector<int> numbers;
    for (int idle = 0; idle < 20; ++idle) {
      while (const auto message = *group["worker_1"].receive_once(kNow)) {
        idle = 0;
        numbers.push_back(number_of(*message));
        if (message->session_type() != SessionType::task) continue;
        EXPECT_TRUE(group["worker_1"].reply(*message, number_of(*message), {}, kNow));
      }
      group.net.run_for(milliseconds(10));
    }
    return numbers;
  }
  static std::vector<int> up_to(int count) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(i);
    return numbers;
  }
  std::vector<ProxyEvent> drops() {
    std::vector<ProxyEvent> told;
    while (auto event = sender->next_event(kNow)) {
      if (event->kind == ProxyEvent::Kind::dropped) told.push_back(*std::move(event));
    }
    return told;
  }

  Proxy* sender = nullptr;
};

TEST_F(Return, EmptiesACacheThatIsLargerThanTheQueueOfTheLinkInOrder) {
  part();
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(sender->isend(note(i)));
  meet_again();
  EXPECT_GT(sender->peer("worker_1")->queued, 50U) << "most of it still waits";
  EXPECT_EQ(read_all(), up_to(kCount));
  EXPECT_EQ(sender->counters().dropped, 0U);
  EXPECT_TRUE(sender->isend(note(0))) << "the link is free again";
}

TEST_F(Return, LetsNothingNewOvertakeWhatWaited) {
  part();
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(sender->isend(note(i)));
  meet_again();
  Draft small = note(kCount);
  small.body = Value::List{kCount};
  EXPECT_EQ(sender->isend(small).error().code(), Code::overloaded);
  EXPECT_EQ(read_all(), up_to(kCount));
}

TEST_F(Return, LetsTheOldestGiveWayOnlyAmongWhatIsNew) {
  part(DropPolicy::oldest);
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(sender->isend(note(i)));
  meet_again();
  for (int i = kCount; i < kCount + 3; ++i) ASSERT_TRUE(sender->isend(note(i)));
  EXPECT_EQ(read_all(), up_to(kCount + 3));
}

TEST_F(Return, SendsRequestsThatWaitedAmongTheNotesInTheOrderOfTheirMaking) {
  part();
  std::vector<SessionId> ids;
  for (int i = 0; i < kCount; ++i) {
    const Result<SessionId> sent = sender->isend(i % 3 == 0 ? task(i) : note(i));
    ASSERT_TRUE(sent);
    if (i % 3 == 0) ids.push_back(*sent);
  }
  meet_again();
  EXPECT_EQ(read_all(), up_to(kCount));
  const Replies replies = *sender->receive_by_id(ids, kNow);
  EXPECT_TRUE(replies.is_complete()) << replies.failures.size() << " failed";
}

TEST_F(Return, SendsARequestThatWasCancelledMeanwhileToNobody) {
  part();
  std::vector<SessionId> ids;
  for (int i = 0; i < kCount; ++i) ids.push_back(*sender->isend(task(i)));
  meet_again();
  EXPECT_TRUE(sender->cancel(ids[kCount - 1]));
  EXPECT_EQ(read_all(), up_to(kCount - 1));
}

TEST_F(Return, KeepsInTheCacheWhatTheLinkHasNotHadWhenItBreaks) {
  part();
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(sender->isend(note(i)));
  meet_again();
  group.net.break_connections("sender", "worker_1");
  ASSERT_TRUE(group.settle());
  const std::vector<int> numbers = read_all();
  std::size_t told = 0;
  for (const ProxyEvent& event : drops()) told += event.count;
  EXPECT_EQ(numbers.size() + told, std::size_t{kCount});
  EXPECT_LT(told, 30U) << "only what was in the link is lost with it";
  EXPECT_EQ(numbers.back(), kCount - 1);
}

TEST_F(Return, TellsTheReceiverWhatIsLeftOfTheTime) {
  part();
  Draft first = note(0);
  Draft second = task(1);
  first.deadline = second.deadline = sender->loop().now() + seconds(60);
  ASSERT_TRUE(sender->isend(first));
  ASSERT_TRUE(sender->isend(second));
  group.net.run_for(seconds(5));
  meet_again();
  for (int i = 0; i < 2; ++i) {
    const Message message = testing::take(group, "worker_1");
    const Duration left = message.deadline() - group["worker_1"].loop().now();
    EXPECT_LE(left, seconds(55)) << i;
    EXPECT_GT(left, seconds(40)) << i;
  }
}

TEST_F(Return, DropsWhatIsLateAndTellsOfIt) {
  part();
  Draft brief = note(0);
  brief.deadline = sender->loop().now() + seconds(1);
  const SessionId late = *sender->isend(brief);
  brief.wants_receipt = true;
  const SessionId awaited = *sender->isend(brief);
  ASSERT_TRUE(sender->isend(note(7)));
  group.net.run_for(seconds(5));
  meet_again();
  EXPECT_EQ(read_all(), std::vector<int>{7});
  const std::vector<ProxyEvent> told = drops();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].session, late);
  EXPECT_NE(told[0].text.find("deadline"), std::string::npos) << told[0].text;
  EXPECT_EQ(sender->receive_by_id({awaited}, kNow)->failures.at(0).error.code(), Code::timeout);
}

TEST_F(Return, MakesRoomInTheCacheOfWhatIsLate) {
  part();
  Draft brief = note(0);
  brief.deadline = sender->loop().now() + seconds(1);
  for (int i = 0; i < 1024; ++i) ASSERT_TRUE(sender->isend(brief));
  EXPECT_EQ(sender->isend(note(1)).error().code(), Code::overloaded);
  group.net.run_for(seconds(2));
  EXPECT_TRUE(sender->isend(note(2)));
  EXPECT_EQ(sender->counters().dropped, 1024U);
}

}  // namespace
}  // namespace muster::msg
