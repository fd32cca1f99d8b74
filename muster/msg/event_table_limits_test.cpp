// The event table's bounds: on time, on what it keeps, and what it gives back.

#include <gtest/gtest.h>

#include "muster/msg/event_table.h"
#include "muster/msg/testing/event_desk.h"

namespace muster::msg {
namespace {

using namespace std::chrono_literals;

TEST(EventTable, FiresWithWhatIsThereWhenTheTimeIsUp) {
  Desk desk;
  const EventId event = desk.add("worker:x:3 within 5s");
  EXPECT_EQ(desk.table.next_deadline(), kForever);
  desk.push("worker_1", "x");
  desk.wait(1s);
  desk.push("worker_2", "x");
  EXPECT_EQ(desk.table.next_deadline(), desk.now + 4s);
  EXPECT_EQ(desk.wait(4s - 1ns).firings, Firings{});

  EXPECT_EQ(desk.wait(1ns).firings, Firings{part(event, {1, 2})});
  EXPECT_EQ(desk.table.next_deadline(), kForever);
}

TEST(EventTable, FiresWholeWhenTheNeedIsMetInTime) {
  Desk desk;
  const EventId event = desk.add("worker:x:2 within 5s");
  desk.push("worker_1", "x");
  desk.wait(4s);

  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{whole(event, {1, 2})});
  EXPECT_EQ(desk.wait(1h).firings, Firings{});
}

TEST(EventTable, CountsTheTimeFromTheOldestMessageThatIsLeft) {
  Desk desk;
  const EventId event = desk.add("a:x:1 && b:y:1 within 5s");
  desk.push("a", "x");
  desk.wait(2s);
  desk.push("a", "x");
  desk.push("b", "y");
  EXPECT_EQ(desk.table.next_deadline(), desk.now + 5s);

  EXPECT_EQ(desk.wait(5s).firings, Firings{part(event, {2})});
}

TEST(EventTable, TakesNoMoreThanTheNeedWhenTheTimeIsUp) {
  Desk desk;
  const EventId event = desk.add("a:x:1 && b:y:1 within 5s");
  desk.push("a", "x");
  desk.push("a", "x");

  EXPECT_EQ(desk.wait(5s).firings, (Firings{part(event, {1}), part(event, {2})}));
}

TEST(EventTable, FiresWhatIsDueBeforeItTakesAMessage) {
  Desk desk;
  const EventId event = desk.add("worker:x:2 within 5s");
  desk.push("worker_1", "x");
  desk.now += 6s;

  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{part(event, {1})});
  EXPECT_EQ(desk.table.waiting(event), 1U);
}

TEST(EventTable, FiresByDeadlineThenByRegistration) {
  Desk desk;
  const EventId slow = desk.add("*:x:2 within 9s");
  const EventId quick = desk.add("*:x:2 within 3s");
  const EventId same = desk.add("*:x:2 within 3s");
  desk.push("a", "x");

  EXPECT_EQ(desk.wait(10s).firings, (Firings{part(quick, {1}), part(same, {1}), part(slow, {1})}));
}

TEST(EventTable, IsNotConfusedByATimeThatGoesBack) {
  Desk desk;
  const EventId event = desk.add("*:x:2 within 5s");
  desk.push("a", "x");
  desk.table.advance(desk.now - 1h);

  EXPECT_EQ(desk.wait(5s).firings, Firings{part(event, {1})});
}

TEST(EventTable, DropsTheOldestOfAFullUnitAndSaysSo) {
  Desk desk({.waiting_limit = 2});
  const EventId event = desk.add("a:x:1 && b:y:1");
  desk.push("a", "x");
  desk.push("a", "x");

  EXPECT_EQ(desk.push("a", "x").dropped, (std::vector<EventDrop>{{event, 1}}));
  EXPECT_EQ(desk.push("b", "y").firings, Firings{whole(event, {2, 4})});
}

TEST(EventTable, KeepsAMessageThatAnotherUnitStillHasRoomFor) {
  Desk desk({.waiting_limit = 2});
  const EventId event = desk.add("*:x:2 && a:x:1 && z");
  desk.push("a", "x");
  desk.push("b", "x");
  EXPECT_EQ(desk.push("b", "x").dropped, std::vector<EventDrop>{});

  EXPECT_EQ(desk.push("c", "z").firings, Firings{whole(event, {1, 2, 3, 4})});
}

TEST(EventTable, LetsABusySenderDisplaceOnlyItself) {
  Desk desk({.waiting_limit = 3});
  const EventId event = desk.add("worker:x:3 distinct");
  desk.push("worker_1", "x");
  desk.push("worker_2", "x");
  desk.push("worker_2", "x");

  EXPECT_EQ(desk.push("worker_2", "x").dropped, (std::vector<EventDrop>{{event, 2}}));
  EXPECT_EQ(desk.push("worker_3", "x").firings, Firings{whole(event, {1, 3, 5})});
}

TEST(EventTable, KeepsAsManyAsAPercentageNeeds) {
  Desk desk({.waiting_limit = 1});
  const EventId event = desk.add("worker:x:100%");
  for (const char* name : {"worker_1", "worker_2", "worker_3"}) desk.join(name);
  desk.push("worker_1", "x");
  desk.push("worker_2", "x");

  EXPECT_EQ(desk.push("worker_3", "x").firings, Firings{whole(event, {1, 2, 3})});
}

TEST(EventTable, RefusesAConditionThatCarriesAnError) {
  EventTable table;
  const Result<EventId> refused = table.add("worker:update:0");

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid);
  EXPECT_NE(refused.error().message().find("character 15"), std::string::npos);
  EXPECT_EQ(table.size(), 0U);
}

TEST(EventTable, RefusesAnAmountThatItCannotKeep) {
  EventTable table({.waiting_limit = 10});
  const Result<EventId> refused = table.add(all_of("x", "worker:update:11"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid);
  EXPECT_NE(refused.error().message().find("character 15"), std::string::npos);
  EXPECT_TRUE(table.add("worker:update:10"));
}

TEST(EventTable, GivesBackWhatWaitedForARemovedEvent) {
  Desk desk;
  const EventId event = desk.add("*:x:3 && y within 5s");
  const EventId other = desk.add("worker:x:60% && z");
  desk.push("worker_1", "x");
  desk.push("worker_1", "x");

  EXPECT_EQ(*desk.table.remove(event), (Tickets{1, 2}));
  EXPECT_EQ(desk.table.next_deadline(), kForever);
  EXPECT_EQ(desk.push("worker_1", "y").holders, 0U);
  EXPECT_EQ(desk.push("worker_1", "z").firings, Firings{whole(other, {1, 4})});
  EXPECT_EQ(desk.table.remove(event).error().code(), Code::not_found);
}

TEST(EventTable, IsEmptyOnceClearedButKnowsItsPeers) {
  Desk desk;
  const EventId first = desk.add("*:x:2");
  const EventId second = desk.add("worker:x:100% && y within 5s");
  desk.join("worker_1");
  desk.push("worker_1", "x");

  EXPECT_EQ(desk.table.clear(), (std::vector<EventDrop>{{first, 1}, {second, 1}}));
  EXPECT_EQ(desk.table.size(), 0U);
  EXPECT_EQ(desk.table.next_deadline(), kForever);
  EXPECT_EQ(desk.push("worker_1", "x").holders, 0U);
  EXPECT_EQ(desk.lose("worker_1").firings, Firings{});
  desk.join("worker_1");
  desk.join("worker_2");
  const EventId again = desk.add("worker:x:100%");
  desk.push("worker_1", "x");
  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{whole(again, {3, 4})});
}

TEST(EventTable, GivesEveryTicketBackOnceToEachHolder) {
  Desk desk({.waiting_limit = 2});
  desk.add("*:x:2 distinct && y");
  desk.add("a:x:2 || y within 5s");
  desk.add("*:*:2");
  std::size_t held = 0;
  std::size_t given_back = 0;
  const auto count = [&](const EventOutcome& outcome) {
    held += outcome.holders;
    given_back += outcome.dropped.size();
    for (const EventFiring& firing : outcome.firings) given_back += firing.tickets.size();
  };
  for (int i = 0; i < 50; ++i) {
    count(desk.push(i % 3 == 0 ? "a" : "b", i % 7 == 0 ? "y" : "x"));
    if (i % 10 == 9) count(desk.wait(3s));
  }

  EXPECT_EQ(held, given_back + desk.table.clear().size());
}

}  // namespace
}  // namespace muster::msg
