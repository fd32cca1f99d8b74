#include "muster/msg/peer_table.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::msg {
namespace {

using News = PeerTable::News;

Member member(const std::string& name, std::uint64_t incarnation, std::uint64_t id) {
  return {name, name.substr(0, name.rfind('_')), {1, id}, incarnation, {"sim://" + name}};
}

TEST(PeerTable, KnowsANameOverItsReturns) {
  PeerTable table;
  const auto first = table.meet(member("worker_1", 1, 1));
  EXPECT_EQ(first.news, News::joined);
  EXPECT_EQ(table.meet(member("worker_1", 1, 1)).news, News::same);
  table.find(first.id)->presence = Presence::lost;
  const auto again = table.meet(member("worker_1", 2, 2));
  EXPECT_EQ(again.news, News::returned);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(table.find(first.id)->presence, Presence::connecting);
}

TEST(PeerTable, FencesOldIncarnationsAndImpostors) {
  PeerTable table;
  const PeerId id = table.meet(member("worker_1", 5, 5)).id;
  EXPECT_EQ(table.meet(member("worker_1", 4, 4)).news, News::stale);
  EXPECT_EQ(table.meet(member("worker_1", 5, 6)).news, News::stale);
  EXPECT_EQ(table.find(id)->member.id, (Id{1, 5}));
  EXPECT_EQ(table.meet(member("worker_1", 6, 6)).news, News::replaced);
  EXPECT_EQ(table.meet(member("worker_1", 5, 5)).news, News::stale);
}

TEST(PeerTable, KeepsAddressesThatAnIntroductionDoesNotTell) {
  PeerTable table;
  const PeerId id = table.meet(member("worker_1", 1, 1)).id;
  Member bare = member("worker_1", 2, 1);
  bare.addresses.clear();
  EXPECT_EQ(table.meet(bare).news, News::same);
  EXPECT_EQ(table.find(id)->member.addresses.size(), 1U);
  EXPECT_EQ(table.find(id)->member.incarnation, 2U);
}

TEST(PeerTable, GivesAnIdOfOneThatIsForgottenToNobody) {
  PeerTable table;
  const PeerId old = table.meet(member("a_1", 1, 1)).id;
  table.remove(old);
  EXPECT_EQ(table.find(old), nullptr);
  const PeerId fresh = table.meet(member("b_1", 1, 2)).id;
  EXPECT_NE(fresh, old);
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.find("a_1"), nullptr);
}

TEST(PeerTable, ChoosesAnAudienceByExactTypePatternOrAllWithoutTheGone) {
  PeerTable table;
  for (const char* name : {"worker_1", "worker_2", "coworker_1", "worker_eval_1"}) {
    table.meet(member(name, 1, 1));
  }
  table.find("worker_2")->presence = Presence::lost;
  const auto names = [&](const Audience& audience) {
    std::string all;
    for (const PeerId id : table.select(audience)) all += table.find(id)->member.name + " ";
    return all;
  };
  EXPECT_EQ(names(Audience::type("worker")), "worker_1 ");
  EXPECT_EQ(names(Audience::pattern("worker_*")), "worker_1 worker_eval_1 ");
  EXPECT_EQ(names(Audience::pattern("*worker_?")), "coworker_1 worker_1 ");
  EXPECT_EQ(names(Audience::all()), "coworker_1 worker_1 worker_eval_1 ");
}

TEST(PeerTable, CountsOnlyThoseWhoAreHere) {
  PeerTable table;
  table.meet(member("worker_1", 1, 1));
  table.meet(member("worker_2", 1, 2));
  EXPECT_FALSE(table.has({.type = "worker"}));
  table.find("worker_1")->presence = Presence::here;
  EXPECT_TRUE(table.has({.type = "worker"}));
  EXPECT_FALSE(table.has({.type = "worker", .count = 2}));
  EXPECT_TRUE(table.has({.name = "worker_1"}));
  EXPECT_FALSE(table.has({.name = "worker_2"}));
}

bool naive(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return naive(pattern.substr(1), text) || (!text.empty() && naive(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         naive(pattern.substr(1), text.substr(1));
}

RC_GTEST_PROP(Audience, MatchesPatternsAsANaiveMatcherDoes, ()) {
  const auto text = (*rc::gen::container<std::string>(rc::gen::element('a', 'b'))).substr(0, 16);
  const auto pattern =
      (*rc::gen::container<std::string>(rc::gen::element('a', 'b', '*', '?'))).substr(0, 12);
  RC_ASSERT(Audience::pattern(pattern).has(text, "") == naive(pattern, text));
}

}  // namespace
}  // namespace muster::msg
