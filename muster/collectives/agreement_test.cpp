// Agreements under every order of messages and losses that a small group can have.

#include "muster/collectives/agreement.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace muster::collectives {
namespace {

// Ranks that agree, with a queue between each two of them. The test says what
// happens next.
class Group {
 public:
  explicit Group(const std::vector<Position>& positions) {
    const auto ranks = static_cast<Rank>(positions.size());
    for (Rank rank = 0; rank < ranks; ++rank) {
      members_.emplace_back(ranks, rank, positions[rank]);
      decisions_.emplace_back();
    }
    alive_.assign(ranks, true);
    for (Rank rank = 0; rank < ranks; ++rank) flush(rank);
  }

  Rank size() const { return static_cast<Rank>(members_.size()); }
  bool is_alive(Rank rank) const { return alive_[rank]; }
  // Decisions of the dead count too: they may have returned.
  const std::optional<Decision>& decision(Rank rank) const { return decisions_[rank]; }
  bool is_excluded(Rank rank) const { return members_[rank].is_excluded(); }

  // Pairs whose oldest message can arrive now.
  std::vector<std::pair<Rank, Rank>> deliverable() const {
    std::vector<std::pair<Rank, Rank>> found;
    for (const auto& [between, queue] : queues_) {
      if (!queue.empty() && alive_[between.second]) found.push_back(between);
    }
    return found;
  }

  void deliver(std::pair<Rank, Rank> between) {
    const AgreementMessage message = queues_[between].front();
    queues_[between].pop_front();
    // As it travels.
    const auto again = decode_agreement(encode(message), size());
    ASSERT_TRUE(again);
    ASSERT_EQ(*again, message);
    members_[between.second].receive(between.first, *again);
    flush(between.second);
  }

  // What it has sent so far still arrives, up to `keep` messages of each queue;
  // the others hear of its end after that, in any order.
  void kill(Rank rank, std::size_t keep) {
    alive_[rank] = false;
    for (auto& [between, queue] : queues_) {
      if (between.first == rank && queue.size() > keep) queue.resize(keep);
      if (between.second == rank) queue.clear();
    }
    for (Rank other = 0; other < size(); ++other) {
      if (other != rank) unheard_.emplace_back(other, rank);
    }
  }

  // Nothing passes between the two any more.
  void part(Rank one, Rank other) {
    for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
      queues_[{from, to}].clear();
      hear({to, from}, Loss::unsure);
    }
  }

  // Losses whose news can arrive now: all messages of the lost came before.
  std::vector<std::pair<Rank, Rank>> news() const {
    std::vector<std::pair<Rank, Rank>> found;
    for (const auto& [hearer, lost] : unheard_) {
      const auto queue = queues_.find({lost, hearer});
      if (alive_[hearer] && (queue == queues_.end() || queue->second.empty())) {
        found.emplace_back(hearer, lost);
      }
    }
    return found;
  }
  void hear(std::pair<Rank, Rank> news, Loss loss = Loss::dead) {
    std::erase(unheard_, news);
    members_[news.first].lose(news.second, loss);
    flush(news.first);
  }
  // `rank` knows from elsewhere that the other is not one of them.
  void leave_out(Rank rank, Rank other) {
    members_[rank].leave_out(other);
    flush(rank);
  }

  bool lacks_quorum(Rank rank) const { return members_[rank].lacks_quorum(); }
  void withdraw(Rank rank) {
    members_[rank].withdraw();
    flush(rank);
  }

  // No two ranks, dead ones among them, have decided differently.
  void expect_agreement() const {
    const Decision* first = nullptr;
    for (const auto& decision : decisions_) {
      if (!decision) continue;
      if (first == nullptr) first = &*decision;
      ASSERT_EQ(*decision, *first);
    }
  }

 private:
  void flush(Rank rank) {
    for (const Agreement::Outgoing& out : members_[rank].take_outgoing()) {
      if (alive_[out.to]) queues_[{rank, out.to}].push_back(out.message);
    }
    decisions_[rank] = members_[rank].decision();
  }

  std::vector<Agreement> members_;
  std::vector<std::optional<Decision>> decisions_;
  std::vector<bool> alive_;
  std::map<std::pair<Rank, Rank>, std::deque<AgreementMessage>> queues_;
  std::vector<std::pair<Rank, Rank>> unheard_;  // Who, of whom.
};

// Does what can be done, in an order that `choose` gives, until nothing is left;
// before each step, whatever `before` does.
template <class Choose, class Before>
void settle(Group& group, Choose choose, Before before, int limit = 10000) {
  for (int step = 0; step < limit; ++step) {
    before(step);
    const auto messages = group.deliverable();
    const auto news = group.news();
    if (messages.empty() && news.empty()) return;
    const std::size_t pick = choose(messages.size() + news.size());
    if (pick < messages.size()) {
      group.deliver(messages[pick]);
    } else {
      group.hear(news[pick - messages.size()]);
    }
    group.expect_agreement();
  }
  FAIL() << "it does not come to an end";
}

std::vector<Position> positions(Rank ranks) {
  std::vector<Position> made;
  for (Rank rank = 0; rank < ranks; ++rank) made.push_back({10 + rank, 11 + rank});
  return made;
}

void expect_all_decided(const Group& group) {
  for (Rank rank = 0; rank < group.size(); ++rank) {
    if (group.is_alive(rank)) {
      EXPECT_TRUE(group.decision(rank)) << rank;
    }
  }
}

TEST(Agreement, AllWhoAreLeftDecideOnThemselvesAndHowFarTheyCame) {
  Group group(positions(4));
  group.kill(1, 0);
  settle(group, [](std::size_t) { return 0; }, [](int) {});
  expect_all_decided(group);
  // Rank 1 was heard of before anybody had asked it.
  const Decision expected{{0, 2, 3}, 10, 13, 11};
  EXPECT_EQ(group.decision(0), expected);
}

TEST(Agreement, AllKnowThatOneOfThemShrinks) {
  for (Rank who = 0; who < 4; ++who) {
    std::vector<Position> at = positions(4);
    at[who].shrinks = true;
    Group group(at);
    group.kill(1, 0);
    settle(group, [](std::size_t) { return 0; }, [](int) {});
    expect_all_decided(group);
    EXPECT_EQ(group.decision(3)->is_shrink, who != 1) << who;
  }
}

TEST(Agreement, OneRankDecidesAlone) {
  const Agreement alone(1, 0, {5, 5});
  ASSERT_TRUE(alone.decision());
  EXPECT_EQ(alone.decision()->survivors, std::vector<Rank>{0});
}

TEST(Agreement, WhoIsNotAmongThoseWhoAreLeftIsExcluded) {
  Agreement late(3, 2, {5, 5});
  late.receive(1, {.kind = AgreementMessage::Kind::decided, .decision = Decision{{0, 1}, 5, 5, 5}});
  EXPECT_FALSE(late.decision());
  EXPECT_TRUE(late.is_excluded());
}

// Others may have counted it in before; it has told them otherwise, and they go on by that.
TEST(Agreement, WhoHasSaidThatItIsLeftOutDecidesNothingAnyMore) {
  using Kind = AgreementMessage::Kind;
  const Decision with_it{{0, 1, 2}, 5, 5, 5};
  Agreement late(3, 2, {5, 5});
  late.receive(0, {.kind = Kind::ask, .ballot = {1, 0}});
  late.receive(0, {.kind = Kind::propose, .ballot = {1, 0}, .decision = with_it});
  late.receive(1, {.kind = Kind::refuse, .ballot = {1, 0}, .lost = {2}});
  ASSERT_TRUE(late.is_excluded());

  late.receive(0, {.kind = Kind::decided, .decision = with_it});
  EXPECT_FALSE(late.decision());
}

// Every rank is killed after every step, with every number of its messages still
// on their way, and then another one after every later step.
TEST(Agreement, NoKillAtAnyStepMakesRanksDecideDifferently) {
  std::uint64_t scenarios = 0;
  for (const Rank ranks : {2U, 3U, 4U}) {
    for (Rank victim = 0; victim < ranks; ++victim) {
      for (int when = 0; when < 40; ++when) {
        for (const std::size_t keep : {0UL, 1UL, 2UL}) {
          for (Rank second = 0; second <= ranks; ++second) {
            Group group(positions(ranks));
            std::minstd_rand random(static_cast<unsigned>(when * 7 + static_cast<int>(keep)));
            const auto choose = [&](std::size_t count) { return random() % count; };
            settle(group, choose, [&](int step) {
              if (step == when) group.kill(victim, keep);
              const bool kills_again = step == when + 3 && second < ranks && ranks > 2;
              if (kills_again && second != victim) group.kill(second, keep);
            });
            expect_all_decided(group);
            ++scenarios;
          }
        }
      }
    }
  }
  EXPECT_GT(scenarios, 4000U);
}

TEST(Agreement, RandomOrdersWithManyDeathsNeverSplitTheDecision) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::minstd_rand random(seed);
    const Rank ranks = 2 + random() % 6;
    Group group(positions(ranks));
    Rank left = ranks;
    const auto choose = [&](std::size_t count) { return random() % count; };
    settle(group, choose, [&](int) {
      const Rank victim = random() % ranks;
      if (left == 1 || random() % 12 != 0 || !group.is_alive(victim)) return;
      group.kill(victim, random() % 3);
      --left;
    });
    expect_all_decided(group);
  }
}

TEST(Agreement, TwoSidesOfACutNeverDecideBoth) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::minstd_rand random(seed);
    const Rank ranks = 2 + random() % 5;
    std::vector<Agreement> members;
    std::vector<bool> side;
    for (Rank rank = 0; rank < ranks; ++rank) {
      members.emplace_back(ranks, rank, Position{});
      side.push_back(random() % 2 == 0);
    }
    for (Rank one = 0; one < ranks; ++one) {
      for (Rank other = 0; other < ranks; ++other) {
        if (side[one] != side[other]) members[one].lose(other, Loss::unsure);
      }
    }
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (Rank rank = 0; rank < ranks; ++rank) {
        for (const auto& out : members[rank].take_outgoing()) {
          is_busy = true;
          if (side[rank] == side[out.to]) members[out.to].receive(rank, out.message);
        }
      }
    }
    bool decided[2] = {false, false};
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (members[rank].decision()) decided[side[rank] ? 1 : 0] = true;
    }
    EXPECT_TRUE(decided[0] != decided[1]) << "seed " << seed;
  }
}

// Ranks 3 and 4 of five fell silent, the others have decided without them. Two of those
// are gone when they come back; the third lives, and stands by what it has decided.
TEST(Agreement, TheDeadCountWhileOneWhoDecidedWithThemMayLive) {
  Agreement late(5, 3, Position{});
  for (const Rank rank : {0U, 1U, 2U}) late.lose(rank, Loss::unsure);
  late.take_outgoing();

  late.lose(0, Loss::dead);
  late.lose(1, Loss::dead);
  EXPECT_TRUE(late.lacks_quorum());

  late.lose(2, Loss::dead);
  EXPECT_FALSE(late.lacks_quorum());
}

TEST(Agreement, WhoHasLeftDoesNotCount) {
  Agreement rest(5, 3, Position{});
  rest.lose(2, Loss::unsure);
  EXPECT_FALSE(rest.lacks_quorum());
  rest.lose(4, Loss::dead);
  rest.lose(0, Loss::unsure);
  EXPECT_TRUE(rest.lacks_quorum());

  rest.lose(0, Loss::left);
  EXPECT_FALSE(rest.lacks_quorum());
}

// A link between two has broken, and both are alive.
TEST(Agreement, OfTwoWhoCannotReachEachOtherOneIsLeftOut) {
  for (const auto& [one, other] :
       {std::pair(0U, 1U), std::pair(0U, 3U), std::pair(1U, 2U), std::pair(2U, 3U)}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      std::minstd_rand random(seed);
      Group group(positions(4));
      group.part(one, other);
      settle(group, [&](std::size_t count) { return random() % count; }, [](int) {});
      for (Rank rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(group.decision(rank).has_value(), rank != other) << rank << " seed " << seed;
        EXPECT_EQ(group.is_excluded(rank), rank == other) << rank << " seed " << seed;
        if (rank == other) continue;
        const std::vector<Rank>& kept = group.decision(rank)->survivors;
        EXPECT_EQ(kept.size(), 3U);
        EXPECT_EQ(std::ranges::count(kept, other), 0);
      }
    }
  }
}

// Also if it would lead: the others do not wait for it, nor it for them.
TEST(Agreement, WhoIsKnownNotToBelongIsTold) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::minstd_rand random(seed);
    Group group(positions(4));
    for (Rank rank = 1; rank < 4; ++rank) group.leave_out(rank, 0);
    settle(group, [&](std::size_t count) { return random() % count; }, [](int) {});
    EXPECT_TRUE(group.is_excluded(0)) << seed;
    for (Rank rank = 1; rank < 4; ++rank) {
      ASSERT_TRUE(group.decision(rank)) << rank << " seed " << seed;
      EXPECT_EQ(group.decision(rank)->survivors, (std::vector<Rank>{1, 2, 3}));
    }
  }
}

// The others would follow it, and it has no part in this any more.
TEST(Agreement, WhoWouldLeadAndIsKnownByOneNotToBelongIsLostToAll) {
  for (Rank knows = 1; knows < 5; ++knows) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      std::minstd_rand random(seed);
      Group group(positions(5));
      group.leave_out(knows, 0);
      settle(group, [&](std::size_t count) { return random() % count; }, [](int) {});
      EXPECT_TRUE(group.is_excluded(0)) << seed;
      for (Rank rank = 1; rank < 5; ++rank) {
        ASSERT_TRUE(group.decision(rank)) << rank << " seed " << seed;
        EXPECT_EQ(group.decision(rank)->survivors, (std::vector<Rank>{1, 2, 3, 4}));
      }
    }
  }
}

// Of the two, one or both are left out.
TEST(Agreement, NobodyWaitsForWhoIsKnownByOneNotToBelong) {
  for (Rank stranger = 0; stranger < 5; ++stranger) {
    for (Rank knows = 0; knows < 5; ++knows) {
      for (unsigned seed = 0; seed < 50 && knows != stranger; ++seed) {
        std::minstd_rand random(seed);
        Group group(positions(5));
        group.leave_out(knows, stranger);
        settle(group, [&](std::size_t count) { return random() % count; }, [](int) {});
        for (Rank rank = 0; rank < 5; ++rank) {
          const bool is_told = rank == stranger || rank == knows;
          EXPECT_TRUE(group.decision(rank) || (is_told && group.is_excluded(rank)))
              << rank << " of " << stranger << " and " << knows << " seed " << seed;
        }
      }
    }
  }
}

// Links break one after the other while ranks agree: who is left out may have accepted before that
// it is not, and others keep to that. It has told them, and decides nothing.
TEST(Agreement, WhoIsCountedInAndLeftOutDecidesNothing) {
  std::size_t counted_in = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::minstd_rand random(seed);
    const Rank ranks = 5 + random() % 3;
    Group group(positions(ranks));
    int breaks = 3;
    const auto choose = [&](std::size_t count) { return random() % count; };
    settle(group, choose, [&](int step) {
      if (step < 10 || breaks == 0 || random() % 6 != 0) return;
      const Rank one = random() % ranks;
      const Rank other = random() % ranks;
      if (one != other) group.part(one, other);
      --breaks;
    });
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (!group.is_excluded(rank)) continue;
      EXPECT_FALSE(group.decision(rank)) << rank << " seed " << seed;
      for (Rank other = 0; other < ranks; ++other) {
        const auto& decision = group.decision(other);
        if (decision && std::ranges::count(decision->survivors, rank) > 0) ++counted_in;
      }
    }
  }
  EXPECT_GT(counted_in, 0U);
}

// Rank 4 follows 0, which loses the others only then, and would wait for it instead of following 1.
TEST(Agreement, WhoCannotDecideAndWithdrawsIsNotWaitedFor) {
  Group group(positions(5));
  group.deliver({0, 4});
  for (const Rank rank : {1U, 2U, 3U}) group.part(0, rank);
  const auto settle_all = [&] { settle(group, [](std::size_t) { return 0; }, [](int) {}); };
  settle_all();
  EXPECT_FALSE(group.decision(1));
  ASSERT_TRUE(group.lacks_quorum(0));

  group.withdraw(0);
  settle_all();
  EXPECT_TRUE(group.is_excluded(0));
  for (const Rank rank : {1U, 2U, 3U, 4U}) {
    ASSERT_TRUE(group.decision(rank)) << rank;
    EXPECT_EQ(group.decision(rank)->survivors, (std::vector<Rank>{1, 2, 3, 4}));
  }
}

TEST(Agreement, NobodyWaitsForEverWhereWhoCannotDecideWithdraws) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::minstd_rand random(seed);
    const Rank ranks = 3 + random() % 5;
    Group group(positions(ranks));
    int breaks = 4;
    const auto choose = [&](std::size_t count) { return random() % count; };
    settle(group, choose, [&](int) {
      if (breaks == 0 || random() % 6 != 0) return;
      const Rank one = random() % ranks;
      const Rank other = random() % ranks;
      if (one != other) group.part(one, other);
      --breaks;
    });
    for (Rank time = 0; time < ranks; ++time) {
      for (Rank rank = 0; rank < ranks; ++rank) {
        if (group.lacks_quorum(rank)) group.withdraw(rank);
      }
      settle(group, choose, [](int) {});
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      EXPECT_TRUE(group.decision(rank) || group.is_excluded(rank)) << rank << " seed " << seed;
    }
  }
}

TEST(Agreement, BytesThatAreNoMessageAreRefused) {
  const AgreementMessage message{.kind = AgreementMessage::Kind::propose,
                                 .ballot = {3, 1},
                                 .decision = Decision{{0, 2}, 1, 2, 3},
                                 .lost = {1}};
  const std::vector<std::byte> bytes = encode(message);
  EXPECT_EQ(*decode_agreement(bytes, 3), message);
  EXPECT_FALSE(decode_agreement(bytes, 2));  // There is no rank 2.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_agreement(std::span(bytes).first(size), 3));
  }
}

}  // namespace
}  // namespace muster::collectives
