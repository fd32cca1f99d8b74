#include "muster/msg/event_table.h"

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

using namespace std::chrono_literals;

using Tickets = std::vector<EventTicket>;

// A table, and who talks to it. Tickets count up from 1, time stands still
// unless it is moved.
struct Desk {
  EventTable table;
  TimePoint now{1h};
  EventTicket last = 0;

  explicit Desk(EventOptions options = {}) : table(options) {}

  EventId add(const EventCondition& condition) {
    const Result<EventId> id = table.add(condition);
    EXPECT_TRUE(id) << id.error().message();
    return id ? *id : 0;
  }
  // From "worker_3", the type is what stands before the line.
  EventOutcome push(std::string_view source, std::string_view tag) {
    return table.push({source, type_of(source), tag, ++last}, now);
  }
  EventOutcome join(std::string_view name) { return table.joined(name, type_of(name), now); }
  EventOutcome lose(std::string_view name) { return table.left(name, now); }
  EventOutcome wait(Duration time) { return table.advance(now += time); }

  static std::string_view type_of(std::string_view name) { return name.substr(0, name.find('_')); }
};

// What a call fired: of one event, whole or partial.
EventFiring whole(EventId event, Tickets tickets) { return {event, std::move(tickets), false}; }
EventFiring part(EventId event, Tickets tickets) { return {event, std::move(tickets), true}; }

using Firings = std::vector<EventFiring>;

TEST(EventTable, FiresWhenTheNeedIsMetAndBeginsAnew) {
  Desk desk;
  const EventId event = desk.add("worker:update:2");

  EXPECT_EQ(desk.push("worker_1", "update").firings, Firings{});
  EXPECT_EQ(desk.push("worker_1", "update").firings, Firings{whole(event, {1, 2})});
  EXPECT_EQ(desk.push("worker_1", "update").firings, Firings{});
}

TEST(EventTable, TakesABareTagForOneMessageFromAnybody) {
  Desk desk;
  const EventId event = desk.add("stop");

  EXPECT_EQ(desk.push("learner", "stop").firings, Firings{whole(event, {1})});
  EXPECT_EQ(desk.push("learner", "go").holders, 0U);
}

TEST(EventTable, TakesAStarForAnyTag) {
  Desk desk;
  const EventId event = desk.add("worker_1:*:2");
  desk.push("worker_1", "a");

  EXPECT_EQ(desk.push("worker_2", "b").holders, 0U);
  EXPECT_EQ(desk.push("worker_1", "b").firings, Firings{whole(event, {1, 3})});
}

TEST(EventTable, KnowsASourceByTypeNameOrBeginningButNotByWhatItContains) {
  const auto takes = [](std::string_view source, std::string_view name, std::string_view type) {
    EventTable table;
    EventUnit unit;
    unit.source = source;
    unit.tag = "t";
    EXPECT_TRUE(table.add(unit));
    return table.push({name, type, "t", 1}, TimePoint()).holders == 1;
  };

  EXPECT_TRUE(takes("*", "anybody", "x"));
  EXPECT_TRUE(takes("worker", "worker_1", "worker"));
  EXPECT_TRUE(takes("worker_1", "worker_1", "worker"));
  EXPECT_TRUE(takes("worker_*", "worker_1", "x"));
  EXPECT_TRUE(takes("worker_*", "worker_", "x"));
  EXPECT_FALSE(takes("worker", "worker_eval_1", "worker_eval"));
  EXPECT_FALSE(takes("worker", "coworker_9", "coworker"));
  EXPECT_FALSE(takes("worker_1", "worker_10", "worker"));
  EXPECT_FALSE(takes("worker_*", "coworker_1", "x"));
  EXPECT_FALSE(takes("worker_*", "worker", "worker_x"));
  EXPECT_FALSE(takes("worker_*", "w", "x"));
}

TEST(EventTable, TakesNoTagThatOnlyContainsTheOneNamed) {
  Desk desk;
  desk.add("*:update:1");

  EXPECT_EQ(desk.push("w", "updates").holders, 0U);
  EXPECT_EQ(desk.push("w", "*").holders, 0U);
}

TEST(EventTable, DoesNotClipAnAmountToTheNumberOfPeers) {
  Desk desk;
  const EventId event = desk.add("worker:x:5");
  desk.join("worker_1");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{});

  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{whole(event, {1, 2, 3, 4, 5})});
}

TEST(EventTable, RoundsAPercentageDownButNotToNothing) {
  const auto need = [](int percent, int peers) {
    Desk desk;
    desk.add(EventUnit{"worker", "x", {static_cast<std::uint32_t>(percent), true}, false});
    for (int i = 0; i < peers; ++i) desk.join("worker_" + std::to_string(i));
    int pushed = 1;
    while (desk.push("worker_0", "x").firings.empty()) ++pushed;
    return pushed;
  };

  EXPECT_EQ(need(60, 3), 1);
  EXPECT_EQ(need(67, 3), 2);
  EXPECT_EQ(need(33, 3), 1);
  EXPECT_EQ(need(90, 10), 9);
  EXPECT_EQ(need(99, 5), 4);
  EXPECT_EQ(need(100, 5), 5);
  EXPECT_EQ(need(100, 0), 1);
}

TEST(EventTable, CountsOnlyPeersThatMatchTheSource) {
  Desk desk;
  const EventId event = desk.add("worker:x:100%");
  for (const char* name : {"worker_1", "worker_2", "learner", "coworker_1"}) desk.join(name);
  desk.push("worker_1", "x");

  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{whole(event, {1, 2})});
}

TEST(EventTable, FiresByItselfWhenALossLowersAPercentage) {
  Desk desk;
  const EventId event = desk.add("worker:x:100%");
  for (const char* name : {"worker_1", "worker_2", "worker_3"}) desk.join(name);
  desk.push("worker_1", "x");
  desk.push("worker_2", "x");

  EXPECT_EQ(desk.lose("worker_3").firings, Firings{whole(event, {1, 2})});
}

TEST(EventTable, StillCountsTheMessagesOfTheLost) {
  Desk desk;
  const EventId event = desk.add("worker:x:100%");
  for (const char* name : {"worker_1", "worker_2", "worker_3"}) desk.join(name);
  desk.push("worker_3", "x");
  EXPECT_EQ(desk.lose("worker_3").firings, Firings{});

  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{whole(event, {1, 2})});
}

TEST(EventTable, NeedsMoreOnceAPeerJoined) {
  Desk desk;
  const EventId event = desk.add("worker:x:100%");
  desk.join("worker_1");
  desk.join("worker_2");
  desk.push("worker_1", "x");
  desk.join("worker_3");
  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{});

  EXPECT_EQ(desk.push("worker_3", "x").firings, Firings{whole(event, {1, 2, 3})});
}

TEST(EventTable, CountsAPeerOnceHoweverOftenItJoins) {
  Desk desk;
  const EventId event = desk.add("worker:x:100%");
  desk.join("worker_1");
  desk.join("worker_1");
  desk.lose("stranger");
  EXPECT_EQ(desk.table.peers(), 1U);

  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{whole(event, {1})});
}

TEST(EventTable, TakesAPeerOfAnotherTypeForAnotherPeer) {
  Desk desk;
  const EventId workers = desk.add("worker:x:100%");
  desk.join("worker_1");
  desk.table.joined("p", "worker", desk.now);
  desk.push("worker_1", "x");

  EXPECT_EQ(desk.table.joined("p", "learner", desk.now).firings, Firings{whole(workers, {1})});
}

TEST(EventTable, KnowsThePeersThatJoinedBeforeTheEventWasAdded) {
  Desk desk;
  desk.join("worker_1");
  desk.join("worker_2");
  const EventId event = desk.add("worker_*:x:100%");
  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{});

  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{whole(event, {1, 2})});
}

TEST(EventTable, NeedsEveryPartOfAnAnd) {
  Desk desk;
  const EventId event = desk.add(all_of("worker_01:update:2", "worker_02:update:1"));
  desk.push("worker_01", "update");
  desk.push("worker_01", "update");

  EXPECT_EQ(desk.push("worker_02", "update").firings, Firings{whole(event, {1, 2, 3})});
}

TEST(EventTable, TakesExactlyTheNeedAndTheOldest) {
  Desk desk;
  const EventId event = desk.add("a:x:2 && b:y:1");
  for (int i = 0; i < 3; ++i) desk.push("a", "x");

  EXPECT_EQ(desk.push("b", "y").firings, Firings{whole(event, {1, 2, 4})});
  EXPECT_EQ(desk.table.waiting(event), 1U);
  EXPECT_EQ(desk.push("b", "y").firings, Firings{});
  EXPECT_EQ(desk.push("a", "x").firings, Firings{whole(event, {3, 5, 6})});
}

TEST(EventTable, TakesTheFirstPartOfAnOrThatIsMetAndLeavesTheOthers) {
  Desk desk;
  const EventId event =
      desk.add(any_of(all_of("worker_01:update:2", "worker_02:update:3"), "worker_03:update:1"));
  desk.push("worker_01", "update");
  desk.push("worker_01", "update");

  EXPECT_EQ(desk.push("worker_03", "update").firings, Firings{whole(event, {3})});
  desk.push("worker_02", "update");
  desk.push("worker_02", "update");
  EXPECT_EQ(desk.push("worker_02", "update").firings, Firings{whole(event, {1, 2, 4, 5, 6})});
}

TEST(EventTable, PrefersTheFirstOfTwoPartsThatAMessageCompletes) {
  Desk desk;
  const EventId event = desk.add("worker_1:x:1 || worker:x:2");
  desk.push("worker_2", "x");

  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{whole(event, {2})});
  EXPECT_EQ(desk.table.waiting(event), 1U);
}

TEST(EventTable, HandsOutNoMessageTwiceInOneEvent) {
  Desk desk;
  const EventId event = desk.add("worker:x:2 && worker_1:x:1");
  desk.push("worker_1", "x");

  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{whole(event, {1, 2})});
  EXPECT_EQ(desk.table.waiting(event), 0U);
}

TEST(EventTable, TakesAPartWrittenTwiceForOne) {
  Desk desk;
  const EventId event = desk.add("x && x");

  EXPECT_EQ(desk.push("a", "x").firings, Firings{whole(event, {1})});
}

TEST(EventTable, GivesAMessageToEveryEventInOrderOfRegistration) {
  Desk desk;
  const EventId second = desk.add("x");
  const EventId third = desk.add("*:x:2");
  const EventId fourth = desk.add("a:x:1");
  EXPECT_EQ(desk.push("a", "x").holders, 3U);

  EXPECT_EQ(desk.push("a", "x").firings,
            (Firings{whole(second, {2}), whole(third, {1, 2}), whole(fourth, {2})}));
}

TEST(EventTable, ShowsAnEventOnlyWhatComesAfterIt) {
  Desk desk;
  desk.add("*:x:3");
  desk.push("a", "x");
  const EventId late = desk.add("*:x:2");
  EXPECT_EQ(desk.push("a", "x").firings, Firings{});

  EXPECT_EQ(desk.push("a", "x").firings.back(), whole(late, {2, 3}));
}

TEST(EventTable, CountsSendersInsteadOfMessagesWhereAsked) {
  Desk desk;
  const EventId event = desk.add("worker:x:2 distinct");
  desk.push("worker_1", "x");
  EXPECT_EQ(desk.push("worker_1", "x").firings, Firings{});

  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{whole(event, {1, 3})});
  EXPECT_EQ(desk.push("worker_2", "x").firings, Firings{whole(event, {2, 4})});
}

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
