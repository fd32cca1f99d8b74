// What waits: the mailbox, the outbox, and tasks for workers.

#include <deque>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/msg/backlog.h"
#include "muster/msg/mailbox.h"
#include "muster/msg/outbox.h"
#include "muster/msg/same_body.h"
#include "muster/msg/workload.h"

namespace muster::msg {
namespace {

IncomingPtr incoming(std::uint64_t number, Priority priority) {
  IncomingPtr made = IncomingPtr::make();
  made->head.message = {1, number};
  made->priority = priority;
  return made;
}

TEST(Mailbox, GivesTheMostUrgentFirstAndElseInOrder) {
  Mailbox mailbox(1 << 20);
  mailbox.push(incoming(1, Priority::low));
  mailbox.push(incoming(2, Priority::normal));
  mailbox.push(incoming(3, Priority::urgent));
  mailbox.push(incoming(4, Priority::normal));
  std::vector<std::uint64_t> order;
  while (!mailbox.empty()) order.push_back(mailbox.pop()->head.message.low);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{3, 2, 4, 1}));
  EXPECT_EQ(mailbox.bytes(), 0U);
}

TEST(Mailbox, IsFullFromItsLimitOn) {
  Mailbox mailbox(2 * sizeof(Incoming));
  mailbox.push(incoming(1, Priority::low));
  EXPECT_FALSE(mailbox.is_full());
  mailbox.push(incoming(2, Priority::low));
  EXPECT_TRUE(mailbox.is_full());
  mailbox.pop();
  EXPECT_FALSE(mailbox.is_full());
}

TEST(Mailbox, IsFullOfManyHoweverSmall) {
  Mailbox mailbox(std::size_t{1} << 30);
  for (std::uint64_t i = 1; i < Mailbox::kMany; ++i) mailbox.push(incoming(i, Priority::normal));
  EXPECT_FALSE(mailbox.is_full());
  mailbox.push(incoming(0, Priority::normal));
  EXPECT_TRUE(mailbox.is_full());
}

RC_GTEST_PROP(RingQueue, DoesAsADequeDoes, (const std::vector<bool>& pushes)) {
  RingQueue<int> ring;
  std::deque<int> naive;
  int next = 0;
  for (const bool push : pushes) {
    if (push || naive.empty()) {
      naive.push_back(next);
      ring.push(next++);
    } else {
      RC_ASSERT(ring.pop() == naive.front());
      naive.pop_front();
    }
    RC_ASSERT(ring.size() == naive.size());
  }
}

OutgoingMessage outgoing(std::uint64_t number, std::size_t size = 0) {
  OutgoingMessage made;
  made.head.message = {1, number};
  if (size > 0) made.parts.push_back(Buffer::adopt(std::vector<std::byte>(size)));
  return made;
}

std::vector<std::uint64_t> numbers(const auto& messages) {
  std::vector<std::uint64_t> all;
  for (const OutgoingMessage& message : messages) all.push_back(message.head.message.low);
  return all;
}

struct Filled {
  explicit Filled(DropPolicy policy) : outbox({.max_messages = 3, .policy = policy}) {
    for (std::uint64_t i = 1; i <= 5; ++i) {
      OutgoingMessage message = outgoing(i);
      statuses.push_back(outbox.push(message, dropped).has_value());
    }
  }
  Outbox outbox;
  std::vector<OutgoingMessage> dropped;
  std::vector<bool> statuses;
};

using Numbers = std::vector<std::uint64_t>;

TEST(Outbox, ThatIsFullRefusesOrDropsTheOldestOrTheNewest) {
  Filled refusing(DropPolicy::refuse);
  EXPECT_EQ(refusing.statuses, (std::vector{true, true, true, false, false}));
  EXPECT_TRUE(refusing.dropped.empty());
  Filled oldest(DropPolicy::oldest);
  EXPECT_EQ(numbers(oldest.dropped), (Numbers{1, 2}));
  EXPECT_EQ(numbers(oldest.outbox.take_all()), (Numbers{3, 4, 5}));
  Filled newest(DropPolicy::newest);
  EXPECT_EQ(numbers(newest.dropped), (Numbers{4, 5}));
  EXPECT_EQ(numbers(newest.outbox.take_all()), (Numbers{1, 2, 3}));
  EXPECT_EQ(newest.outbox.bytes(), 0U);
}

TEST(Outbox, DropsWhatNeverFitsAndNotAllElse) {
  Outbox outbox({.max_messages = 3, .max_bytes = 10000, .policy = DropPolicy::oldest});
  std::vector<OutgoingMessage> dropped;
  OutgoingMessage small = outgoing(1);
  OutgoingMessage huge = outgoing(2, 20000);
  ASSERT_TRUE(outbox.push(small, dropped) && outbox.push(huge, dropped));
  EXPECT_EQ(numbers(dropped), Numbers{2});
  EXPECT_EQ(outbox.count(), 1U);
}

RC_GTEST_PROP(Outbox, NeverHoldsMoreThanItMayAndLosesNothingUntold,
              (const std::vector<std::uint16_t>& sizes)) {
  const auto policy = *rc::gen::element(DropPolicy::refuse, DropPolicy::oldest, DropPolicy::newest);
  Outbox outbox({.max_messages = 8, .max_bytes = 100000, .policy = policy});
  std::vector<OutgoingMessage> dropped;
  std::size_t refused = 0;
  for (const std::uint16_t size : sizes) {
    OutgoingMessage message = outgoing(1, size);
    refused += outbox.push(message, dropped) ? 0 : 1;
    RC_ASSERT(outbox.count() <= 8U && outbox.bytes() <= 100000U);
  }
  RC_ASSERT(refused + dropped.size() + outbox.count() == sizes.size());
}

OutgoingMessage urgent_by(std::uint64_t number, Priority priority, std::size_t size) {
  OutgoingMessage made = outgoing(number, size);
  made.priority = priority;
  return made;
}

TEST(Backlog, DropsTheOldestOfTheLeastUrgentFirst) {
  const std::size_t each = urgent_by(0, Priority::low, 1000).size();
  Backlog backlog(3 * each);
  std::vector<OutgoingMessage> dropped;
  const auto push = [&](std::uint64_t number, Priority priority, std::size_t size = 1000) {
    dropped.clear();
    backlog.push(urgent_by(number, priority, size), dropped);
    return numbers(dropped);
  };
  EXPECT_EQ(push(1, Priority::normal), Numbers{});
  EXPECT_EQ(push(2, Priority::low), Numbers{});
  EXPECT_EQ(push(3, Priority::low), Numbers{});
  EXPECT_EQ(push(4, Priority::normal), Numbers{2});
  EXPECT_EQ(push(5, Priority::urgent), Numbers{3});
  EXPECT_EQ(push(6, Priority::idle), Numbers{6}) << "all others are more urgent";
  EXPECT_EQ(push(7, Priority::normal, 4 * each), Numbers{7}) << "it never fits";
  EXPECT_EQ(push(8, Priority::normal), Numbers{1});
  EXPECT_EQ(backlog.next()->head.message.low, 5U);
  backlog.pop();
  EXPECT_EQ(backlog.next()->head.message.low, 4U);
  EXPECT_EQ(numbers(backlog.take_all()), (Numbers{4, 8}));
  EXPECT_TRUE(backlog.empty() && backlog.bytes() == 0U && backlog.next() == nullptr);
}

RC_GTEST_PROP(Backlog, NeverHoldsMoreThanItMayLosesNothingUntoldAndKeepsOrder,
              (const std::vector<std::pair<std::uint16_t, std::uint8_t>>& pushes)) {
  Backlog backlog(100000);
  std::vector<OutgoingMessage> dropped;
  std::uint64_t next = 0;
  for (const auto& [size, chance] : pushes) {
    const auto priority = static_cast<Priority>(chance % net::kPriorities);
    backlog.push(urgent_by(++next, priority, size), dropped);
    RC_ASSERT(backlog.bytes() <= 100000U);
  }
  RC_ASSERT(dropped.size() + backlog.count() == next);
  std::uint64_t last = 0;
  Priority most = Priority::urgent;
  while (OutgoingMessage* message = backlog.next()) {
    RC_ASSERT(message->priority >= most);
    RC_ASSERT(message->priority > most || message->head.message.low > last);
    most = message->priority;
    last = message->head.message.low;
    backlog.pop();
  }
  RC_ASSERT(backlog.empty() && backlog.bytes() == 0U);
}

TEST(Workload, GivesToTheLeastLoadedAndThenToTheLongestIdle) {
  constexpr PeerId a{0, 0};
  constexpr PeerId b{1, 0};
  Workload load(2);
  load.set_workers({a, b});
  EXPECT_EQ(load.give(), a);
  EXPECT_EQ(load.give(), b);
  load.done(b);
  load.done(a);
  EXPECT_EQ(load.give(), b) << "idle longer";
  EXPECT_EQ(load.give(), a);
  EXPECT_EQ(load.load(a) + load.load(b), 2U);
  load.give();
  load.give();
  EXPECT_EQ(load.give(), std::nullopt);
}

TEST(Workload, GivesNothingToWhoIsGone) {
  constexpr PeerId a{0, 0};
  constexpr PeerId b{1, 0};
  Workload load(1);
  load.set_workers({a});
  EXPECT_EQ(load.give(), a);
  load.set_workers({b});
  EXPECT_EQ(load.give(), b);
  load.done(a);
  EXPECT_EQ(load.give(), std::nullopt);
  load.set_workers({b});
  EXPECT_EQ(load.size(), 1U);
}

TEST(SameBody, ComparesSmallBytesAndSharesLargeOnes) {
  const auto blob = [](std::size_t size) { return Buffer::adopt(std::vector<std::byte>(size)); };
  const wire::Value large = blob(100000);
  EXPECT_TRUE(is_same_body(large, large));
  EXPECT_FALSE(is_same_body(large, blob(100000))) << "equal, but to know that costs too much";
  EXPECT_TRUE(is_same_body(blob(10), blob(10)));
  const wire::Value map = wire::Value::Map{{"a", wire::Value::List{1, "x", nullptr}}, {"b", large}};
  const wire::Value same = map;
  EXPECT_TRUE(is_same_body(map, same));
  EXPECT_FALSE(is_same_body(map, wire::Value::Map{{"a", 1}}));
  EXPECT_FALSE(is_same_body(wire::Value::List{1}, wire::Value::List{1, 2}));
}

TEST(SameBody, IsFoundWhereverInTheListItStands) {
  const auto blob = [](std::size_t size) { return Buffer::adopt(std::vector<std::byte>(size)); };
  const wire::Value large = blob(100000);
  const std::vector<wire::Value> bodies = {
      1,   wire::Value::Map{{"w", large}, {"i", 0}}, blob(10), 1.0, wire::Value::List{1},
      1,   wire::Value::Map{{"w", large}, {"i", 1}}, blob(10), 1.0, wire::Value::List{1, 2},
      "1", wire::Value::Map{{"w", large}, {"i", 0}}, blob(11), 2.0, wire::Value::List{1}};
  BodyIndex known;
  std::vector<std::size_t> firsts;
  for (const wire::Value& body : bodies) firsts.push_back(known.first_like(body));
  EXPECT_EQ(firsts, (std::vector<std::size_t>{0, 1, 2, 3, 4, 0, 6, 2, 3, 9, 10, 1, 12, 13, 4}));
}

}  // namespace
}  // namespace muster::msg
