#include "muster/msg/event_table.h"

#include <gtest/gtest.h>

#include "muster/msg/testing/event_desk.h"

namespace muster::msg {
namespace {

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

}  // namespace
}  // namespace muster::msg
