#include "muster/net/link.h"

#include <gtest/gtest.h>

#include "muster/net/testing/flaky_net.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/pattern.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FlakyNet;
using testing::index_of;
using testing::is_message;
using testing::LinkEnd;
using testing::message;
using testing::Party;

using Tweak = std::function<void(EndpointOptions&)>;

const Address kThere = {.scheme = "flaky", .host = "there", .port = 0, .last_port = 0};
const DialOptions kReconnecting = {.reconnect = true,
                                   .first_retry = milliseconds(50),
                                   .longest_retry = seconds(5),
                                   .where = {},
                                   .named = {}};

// Two parties and a link between them, under virtual time.
struct Pair {
  explicit Pair(const DialOptions& options = {}, const Tweak& tweak_far = nullptr,
                const Tweak& tweak_near = nullptr)
      : far(net.side(), tweak_far), near(net.side(), tweak_near) {
    far.listen(kThere);
    end = &near.connect(kThere, options);
    net.advance(milliseconds(100));
  }
  LinkEnd& there() { return far.end(far.count() - 1); }

  FlakyNet net;
  Party far;
  Party near;
  LinkEnd* end = nullptr;
};

TEST(Link, StaysUpByBeatsWhileNobodySays) {
  Pair pair;
  pair.net.advance(seconds(60));
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
}

TEST(Link, LosesAPeerThatFallsSilentAndNotBefore) {
  Pair pair;
  pair.net.set_cut(true);
  pair.net.advance(milliseconds(2600));
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
  pair.net.advance(milliseconds(500));

  ASSERT_TRUE(pair.end->is_closed() && pair.there().is_closed());
  EXPECT_EQ(pair.end->why_closed->code(), Code::unavailable);
  EXPECT_NE(pair.end->why_closed->message().find("nothing was heard for 2800 ms"),
            std::string::npos);
}

TEST(Link, AProcessThatWasStoppedDoesNotLoseItsPeers) {
  Pair pair;
  for (int i = 0; i < 5; ++i) {
    pair.net.stall(seconds(20));
    pair.net.advance(seconds(3));
  }
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
}

TEST(Link, BeatsOftenEnoughForALessPatientPeer) {
  Pair pair({}, [](EndpointOptions& options) {
    options.beat = milliseconds(100);
    options.silence = milliseconds(300);
  });
  pair.net.advance(seconds(10));
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
}

TEST(Link, KeepsItsQueueThroughAPartitionAndSendsItInOrder) {
  Pair pair(kReconnecting);
  ASSERT_TRUE(pair.end->send(message(0)));
  pair.net.advance(milliseconds(10));
  pair.net.set_cut(true);
  pair.net.advance(seconds(10));
  EXPECT_FALSE(pair.end->is_up());
  EXPECT_EQ(pair.end->link->state(), LinkState::connecting);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(pair.end->send(message(i, {i % 50 == 0 ? std::size_t{200'000} : 100})));
  }
  EXPECT_EQ(pair.end->counters().messages_queued, 200U);

  pair.net.set_cut(false);
  pair.net.advance(seconds(20));

  ASSERT_TRUE(pair.end->is_up());
  ASSERT_EQ(pair.there().message_count(), 200U);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    EXPECT_TRUE(
        is_message(pair.there().messages[i - 1], i, {i % 50 == 0 ? std::size_t{200'000} : 100}));
  }
  EXPECT_EQ(pair.end->counters().messages_queued, 0U);
}

TEST(Link, ALargeBodyThatWasCutOffBeginsAnewAfterTheReturn) {
  Pair pair(kReconnecting);
  ASSERT_TRUE(pair.end->send(message(7, {2'000'000})));
  pair.net.advance(milliseconds(10));
  EXPECT_EQ(pair.end->counters().messages_sent, 0U) << "the test wants it to be under way";
  pair.net.break_all();
  pair.net.advance(seconds(10));

  ASSERT_EQ(pair.there().message_count(), 1U);
  EXPECT_TRUE(is_message(pair.there().messages[0], 7, {2'000'000}));
}

TEST(Link, MemoryOfALargeBodyIsLetGoWhenTheLinkGoesDownHalfway) {
  FlakyNet net;
  Party far(net.side());
  Party near(net.side());
  WritableBuffer memory = WritableBuffer::on_heap(2'000'000);
  BufferOwner* const owner = memory.owner();
  far.listen(kThere, [&](LinkEnd& end) {
    end.provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
      owner->retain();
      return WritableBuffer(memory.bytes(), owner);
    };
  });
  LinkEnd& end = near.connect(kThere);
  ASSERT_TRUE(end.send(message(7, {2'000'000})));
  net.advance(milliseconds(20));
  EXPECT_FALSE(owner->is_unique());

  net.break_all();
  net.advance(milliseconds(10));

  EXPECT_TRUE(owner->is_unique());
}

TEST(Link, WhatIsMoreUrgentOvertakesALargeBodyAndWhatWaits) {
  Pair pair;
  pair.net.queue_limit = 4;
  ASSERT_TRUE(pair.end->send(message(1, {3'000'000}), {.channel = 1, .priority = 3}));
  for (std::uint64_t i = 10; i < 20; ++i) {
    ASSERT_TRUE(pair.end->send(message(i, {50'000}), {.channel = 2, .priority = 2}));
  }
  ASSERT_TRUE(pair.end->send(message(2), {.channel = 1, .priority = 3}));
  ASSERT_TRUE(pair.end->send(message(3), {.channel = 3, .priority = 0}));
  pair.net.advance(seconds(2));

  std::vector<std::uint64_t> order;
  for (const wire::Frame& frame : pair.there().messages) order.push_back(index_of(frame.head));
  ASSERT_EQ(order.size(), 13U);
  EXPECT_EQ(order[11], 1U) << "the large one after all that was more urgent";
  EXPECT_EQ(order[12], 2U) << "and what stood behind it in its lane last";
  // The few that the connection had already taken may come before.
  EXPECT_LE(std::ranges::find(order, 3) - order.begin(), 5);
}

TEST(Link, AReceiverGrantsNoMoreThanItsBudgetAtOnce) {
  Pair pair({}, [](EndpointOptions& options) { options.grant_budget = 500'000; });
  std::size_t most = 0;
  std::size_t taken = 0;
  pair.there().provide = [&](const wire::Head&, std::size_t, std::uint64_t size) {
    taken += size;
    most = std::max(most, taken);
    return WritableBuffer();
  };
  pair.there().take = [&](wire::Frame& frame, Lane) { taken -= frame.body_size(); };
  for (std::uint32_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(pair.end->send(message(i, {200'000}), {.channel = i}));
  }
  ASSERT_TRUE(pair.end->send(message(9, {900'000}), {.channel = 9}));
  pair.net.advance(seconds(5));

  EXPECT_EQ(pair.there().message_count(), 7U);
  EXPECT_LE(most, 900'000U);
}

TEST(Link, LargeBodiesThatWaitAtTheReceiverHoldUpTheNext) {
  Pair pair;
  pair.there().is_holding = true;
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(pair.end->send(message(i, {2'000'000})));
  pair.net.advance(seconds(1));
  EXPECT_EQ(pair.there().message_count(), 4U);

  pair.there().release();
  pair.net.advance(seconds(1));
  EXPECT_EQ(pair.there().message_count(), 10U);
}

TEST(Link, ClosingGivesUpAtItsDeadlineAndSaysHowMuchIsLeft) {
  Pair pair;
  pair.there().is_holding = true;
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(pair.end->send(message(i, {60'000})));
  pair.end->close();
  pair.net.advance(milliseconds(4900));
  EXPECT_FALSE(pair.end->is_closed());
  pair.net.advance(milliseconds(200));

  ASSERT_TRUE(pair.end->is_closed());
  EXPECT_EQ(pair.end->why_closed->code(), Code::timeout);
  EXPECT_NE(pair.end->why_closed->message().find("messages were still queued"), std::string::npos);
}

TEST(Link, ClosingWhileItIsBeingMadeStillDeliversWhatIsQueued) {
  FlakyNet net;
  Party far(net.side());
  Party near(net.side());
  far.listen(kThere);
  LinkEnd& end = near.connect(kThere);
  net.advance(Duration::zero());
  ASSERT_TRUE(end.send(message(5)));
  end.close();
  net.advance(seconds(1));

  EXPECT_TRUE(end.is_closed());
  EXPECT_EQ(end.why_closed->code(), Code::cancelled);
  EXPECT_EQ(far.end().message_count(), 1U);
}

TEST(Link, ClosingBetweenTwoTriesEndsItSoon) {
  FlakyNet net;
  Party near(net.side());
  LinkEnd& end = near.connect(kThere, kReconnecting);
  net.advance(seconds(30));
  EXPECT_GT(end.down_count(), 5);
  EXPECT_LT(end.down_count(), 20) << "it backs off";

  end.close();
  EXPECT_FALSE(end.is_closed()) << "never from inside close()";
  net.advance(Duration::zero());

  EXPECT_TRUE(end.is_closed());
}

TEST(Link, APeerThatNeverAnswersIsGivenUpAtTheHandshakesDeadline) {
  FlakyNet net;
  Party near(net.side());
  Party far(net.side());
  far.listen(kThere);
  net.set_cut(true);
  LinkEnd& end = near.connect(kThere);
  net.advance(milliseconds(4900));
  EXPECT_FALSE(end.is_closed());
  net.advance(milliseconds(200));

  ASSERT_TRUE(end.is_closed());
  EXPECT_EQ(end.why_closed->code(), Code::unavailable);
  EXPECT_NE(end.why_closed->message().find("handshake"), std::string::npos);
}

TEST(Link, TellsWhatMayNotHaveArrived) {
  Pair pair;
  pair.there().is_holding = true;
  ASSERT_TRUE(pair.end->send(message(1, {1000})));
  EXPECT_EQ(pair.end->counters().cost_unconfirmed, 1128U);
  pair.net.break_all();
  pair.net.advance(seconds(1));

  EXPECT_NE(pair.end->why_down->message().find("cost 1128 bytes may not have arrived"),
            std::string::npos)
      << pair.end->why_down->message();
}

TEST(Link, RefusesWhatCannotBeAMessage) {
  Pair pair;
  wire::Frame short_head;
  short_head.head.resize(kLinkHead - 1);
  EXPECT_EQ(pair.end->send(short_head).error().code(), Code::invalid);
  EXPECT_EQ(pair.end->send(message(1), {.channel = 0, .priority = 4}).error().code(),
            Code::invalid);
  wire::Frame many = message(1, std::vector<std::size_t>(wire::kMaxParts + 1, 1));
  EXPECT_EQ(pair.end->send(many).error().code(), Code::invalid);
  EXPECT_TRUE(pair.end->is_up());
}

TEST(Link, IsSmallWhenIdle) { EXPECT_LE(sizeof(Link), 2048U); }

}  // namespace
}  // namespace muster::net
