#include "muster/msg/session_table.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::msg {
namespace {

using Verdict = SessionTable::Verdict;
using std::chrono::seconds;

constexpr PeerId kWorker{1, 0};
constexpr PeerId kOther{2, 0};
const TimePoint kStart = TimePoint(seconds(100));

IncomingPtr answer(SessionId id, Stage stage = Stage::complete, PeerId from = kWorker,
                   SessionType type = SessionType::task) {
  IncomingPtr incoming = IncomingPtr::make();
  incoming->head.kind = kind_of(type, stage);
  incoming->head.session = id;
  incoming->head.tag = "answer";
  incoming->peer = from;
  return incoming;
}

Verdict give(SessionTable& table, IncomingPtr incoming) { return table.take(incoming); }

SessionId open(SessionTable& table, SessionTable::Opening opening = {.peer = kWorker}) {
  if (!opening.peer) opening.peer = kWorker;
  return *table.open(std::move(opening));
}

TEST(SessionTable, KeepsTheAnswerForWhoAsks) {
  SessionTable table(9, 10);
  const SessionId id = open(table);
  EXPECT_FALSE(table.take_outcome(id));
  EXPECT_EQ(give(table, answer(id)), Verdict::finished);
  const auto outcome = table.take_outcome(id);
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_EQ((**outcome)->head.session, id);
  EXPECT_EQ(table.size(), 0U);
}

TEST(SessionTable, NeverTakesAnAcknowledgementForACompletion) {
  SessionTable table(9, 10);
  const SessionId id = open(table);
  SessionWatch watch;
  ASSERT_TRUE(table.watch(id, watch));
  EXPECT_EQ(give(table, answer(id, Stage::receive)), Verdict::advanced);
  EXPECT_EQ(watch.left, 1U);
  EXPECT_FALSE(table.take_outcome(id));
  EXPECT_EQ(give(table, answer(id)), Verdict::finished);
  EXPECT_EQ(watch.left, 0U);
}

TEST(SessionTable, CallsASecondCompletionRepeatedThenLate) {
  SessionTable table(9, 10);
  const SessionId id = open(table);
  give(table, answer(id));
  EXPECT_EQ(give(table, answer(id)), Verdict::repeated);
  table.take_outcome(id);
  EXPECT_EQ(give(table, answer(id)), Verdict::late);
}

TEST(SessionTable, KnowsNoSessionThatNeverWas) {
  SessionTable table(9, 10);
  open(table);
  EXPECT_EQ(give(table, answer({8, 1})), Verdict::unknown);
  EXPECT_EQ(give(table, answer({9, 77 << 24})), Verdict::unknown);
  EXPECT_EQ(give(table, answer({9, 0})), Verdict::unknown);
}

TEST(SessionTable, LetsOnlyWhomItAskedAnswer) {
  SessionTable table(9, 10);
  const SessionId id = open(table);
  EXPECT_EQ(give(table, answer(id, Stage::complete, kOther)), Verdict::wrong);
  EXPECT_EQ(give(table, answer(id, Stage::receive, kWorker, SessionType::notification)),
            Verdict::wrong);
  EXPECT_EQ(give(table, answer(id)), Verdict::finished);
}

TEST(SessionTable, EndsASessionAtItsDeadlineAndCallsTheReplyLate) {
  SessionTable table(9, 10);
  const SessionId id = open(table, {.deadline = kStart});
  EXPECT_EQ(table.next_deadline(), kStart);
  EXPECT_EQ(table.expire(kStart - seconds(1)), 0U);
  EXPECT_EQ(table.expire(kStart), 1U);
  EXPECT_EQ(give(table, answer(id)), Verdict::late);
  const auto outcome = table.take_outcome(id);
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().code(), Code::timeout);
}

TEST(SessionTable, ForgetsDeadlinesOfFinishedSessions) {
  SessionTable table(9, 10);
  for (int i = 0; i < 10000; ++i) {
    const SessionId id = open(table, {.deadline = kStart + seconds(i)});
    give(table, answer(id));
    table.take_outcome(id);
  }
  EXPECT_LE(table.expire(kStart + seconds(20000)), 0U);
  EXPECT_EQ(table.next_deadline(), kForever);
}

TEST(SessionTable, EndsSessionsOfALostPeerAndNoOthers) {
  SessionTable table(9, 10);
  const SessionId lost = open(table);
  const SessionId waits = open(table, {.on_loss = OnLoss::wait});
  const SessionId other = open(table, {.peer = kOther});
  EXPECT_EQ(table.lose(kWorker, Error(Code::unavailable, "worker_1 was lost")), 1U);
  EXPECT_EQ(table.take_outcome(lost)->error(), Error(Code::unavailable, "worker_1 was lost"));
  EXPECT_EQ(table.state(waits), Session::State::requested);
  EXPECT_EQ(table.state(other), Session::State::requested);
}

TEST(SessionTable, KeepsRequestsThatWaitForAReturnInOrder) {
  SessionTable table(9, 10);
  std::vector<SessionId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(open(table, {.on_loss = OnLoss::wait}));
    KeptRequest request;
    request.head.session = ids.back();
    table.keep(ids.back(), std::move(request));
  }
  give(table, answer(ids[1]));
  std::vector<SessionId> kept;
  for (KeptRequest* request : table.kept_for(kWorker)) kept.push_back(request->head.session);
  EXPECT_EQ(kept, (std::vector{ids[0], ids[2], ids[3]}));
  EXPECT_TRUE(table.kept_for(kOther).empty());
}

TEST(SessionTable, TakesIdsThatTheCallerChose) {
  SessionTable table(9, 10);
  const SessionId id = open(table, {.id = {1, 2}});
  EXPECT_EQ(id, (SessionId{1, 2}));
  EXPECT_EQ(table.open({.id = id, .peer = kWorker}).error().code(), Code::invalid);
  EXPECT_EQ(table.open({.id = {9, 5}, .peer = kWorker}).error().code(), Code::invalid);
  EXPECT_EQ(give(table, answer(id)), Verdict::finished);
  EXPECT_TRUE(table.take_outcome(id));
  EXPECT_TRUE(table.open({.id = id, .peer = kWorker})) << "free again";
}

TEST(SessionTable, SaysOverloadedAtItsLimit) {
  SessionTable table(9, 2);
  const SessionId id = open(table);
  open(table);
  EXPECT_EQ(table.open({.peer = kWorker}).error().code(), Code::overloaded);
  give(table, answer(id));
  EXPECT_FALSE(table.open({.peer = kWorker})) << "its answer still waits";
  table.take_outcome(id);
  EXPECT_TRUE(table.open({.peer = kWorker}));
}

TEST(SessionTable, LetsOneWaitForASessionAtATime) {
  SessionTable table(9, 10);
  const SessionId a = open(table);
  const SessionId b = open(table);
  SessionWatch first;
  SessionWatch second;
  ASSERT_TRUE(table.watch(b, first));
  EXPECT_EQ(table.watch({a, b}, second).error().code(), Code::invalid);
  EXPECT_EQ(second.left, 0U);
  EXPECT_EQ(table.watch({a, SessionId{1, 1}}, second).error().code(), Code::not_found);
  EXPECT_TRUE(table.watch({a}, second)) << "nothing was left behind";
}

TEST(SessionTable, GivesAnswersThatGoToReceiveBack) {
  SessionTable table(9, 10);
  const SessionId id = open(table, {.answers = Answers::to_receive});
  EXPECT_EQ(give(table, answer(id)), Verdict::deliver);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(give(table, answer(id)), Verdict::late);
}

TEST(SessionTable, TellsOfSessionsThatEndedUnheard) {
  SessionTable table(9, 10);
  const SessionId id = open(table, {.answers = Answers::to_receive});
  table.lose(kWorker, Error(Code::unavailable, "lost"));
  const auto unheard = table.take_unheard();
  ASSERT_EQ(unheard.size(), 1U);
  EXPECT_EQ(unheard[0].first, id);
  EXPECT_EQ(table.size(), 0U);
}

TEST(SessionTable, CallsWhoAskedForItAfterTheSessionIsGone) {
  SessionTable table(9, 1);
  std::optional<SessionId> next;
  open(table, {.done = [&](SessionTable::Outcome) { next = open(table); }});
  EXPECT_EQ(table.end_all(Error(Code::cancelled, "over")), 1U);
  EXPECT_TRUE(next.has_value());
  EXPECT_EQ(table.open_count(), 1U);
}

// Against a table that keeps everything it ever saw.
RC_GTEST_PROP(SessionTable, DoesAsANaiveOne, ()) {
  struct Naive {
    bool is_open = true;
    bool is_taken = false;
    bool is_acknowledged = false;
    TimePoint deadline = kForever;
    PeerId peer = {};
  };
  SessionTable table(9, 1000);
  std::vector<std::pair<SessionId, Naive>> all;
  TimePoint now = kStart;
  const int steps = *rc::gen::inRange(1, 120);
  for (int step = 0; step < steps; ++step) {
    const int deed = *rc::gen::inRange(0, 6);
    const PeerId peer = *rc::gen::arbitrary<bool>() ? kWorker : kOther;
    if (deed == 0 || all.empty()) {
      Naive naive{.peer = peer};
      if (*rc::gen::arbitrary<bool>()) naive.deadline = now + seconds(*rc::gen::inRange(1, 5));
      all.emplace_back(open(table, {.peer = peer, .deadline = naive.deadline}), naive);
      continue;
    }
    auto& [id, naive] = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    if (deed == 1) {
      const Verdict expected = naive.peer != peer && !naive.is_taken ? Verdict::wrong
                               : naive.is_taken                      ? Verdict::late
                               : naive.is_open                       ? Verdict::finished
                                                                     : Verdict::repeated;
      const Verdict got = give(table, answer(id, Stage::complete, peer));
      const bool is_same = got == expected || (got == Verdict::late && !naive.is_open);
      RC_ASSERT(is_same);
      if (got == Verdict::finished) naive.is_open = false;
    } else if (deed == 2) {
      const Verdict got = give(table, answer(id, Stage::receive, naive.peer));
      if (naive.is_open) {
        RC_ASSERT(got == (naive.is_acknowledged ? Verdict::repeated : Verdict::advanced));
      }
      naive.is_acknowledged = true;
    } else if (deed == 3) {
      const bool has = table.take_outcome(id).has_value();
      RC_ASSERT(has == (!naive.is_open && !naive.is_taken));
      naive.is_taken |= has;
    } else if (deed == 4) {
      now += seconds(1);
      std::size_t due = 0;
      for (auto& [other, each] : all) {
        if (each.is_open && each.deadline <= now) {
          each.is_open = false;
          ++due;
        }
      }
      RC_ASSERT(table.expire(now) == due);
    } else {
      std::size_t ended = 0;
      for (auto& [other, each] : all) {
        if (each.is_open && each.peer == peer) {
          each.is_open = false;
          ++ended;
        }
      }
      RC_ASSERT(table.lose(peer, Error(Code::unavailable, "lost")) == ended);
    }
    RC_ASSERT(table.open_count() ==
              static_cast<std::size_t>(std::ranges::count_if(
                  all, [](const auto& entry) { return entry.second.is_open; })));
  }
}

}  // namespace
}  // namespace muster::msg
