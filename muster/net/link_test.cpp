#include "muster/net/link.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/testing/link_end.h"
#include "muster/net/testing/pattern.h"
#include "muster/net/testing/sim_rig.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::index_of;
using testing::is_message;
using testing::LinkEnd;
using testing::message;
using testing::Party;
using testing::SimOptions;
using testing::SimRig;

using Tweak = std::function<void(EndpointOptions&)>;

const Address kThere = {.scheme = "sim", .host = "far/x", .port = 0, .last_port = 0};
// Small frames and a short queue, so that links do all that they do over a network.
const SimOptions kSmall = {.max_frames = 16, .max_body = kLargePart};
const DialOptions kReconnecting = {.reconnect = true,
                                   .first_retry = milliseconds(50),
                                   .longest_retry = seconds(5),
                                   .where = {},
                                   .named = {}};

// Two parties and a link between them, under virtual time.
struct Pair {
  explicit Pair(const DialOptions& options = {}, const Tweak& tweak_far = nullptr,
                const SimOptions& net = kSmall)
      : rig(net), far(rig.far(), tweak_far), near(rig.near()) {
    far.listen(kThere);
    end = &near.connect(kThere, options);
    run_for(milliseconds(100));
  }
  void run_for(Duration time) { rig.net().run_for(time); }
  LinkEnd& there() { return far.end(far.count() - 1); }

  SimRig rig;
  Party far;
  Party near;
  LinkEnd* end = nullptr;
};

TEST(Link, StaysUpByBeatsWhileNobodySays) {
  Pair pair;
  pair.run_for(seconds(60));
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
}

TEST(Link, LosesAPeerThatFallsSilentAndNotBefore) {
  Pair pair;
  pair.rig.part();
  pair.run_for(milliseconds(2600));
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
  pair.run_for(milliseconds(500));

  ASSERT_TRUE(pair.end->is_closed() && pair.there().is_closed());
  EXPECT_EQ(pair.end->why_closed->code(), Code::unavailable);
  EXPECT_NE(pair.end->why_closed->message().find("nothing was heard for 2800 ms"),
            std::string::npos);
}

TEST(Link, AProcessThatWasStoppedDoesNotLoseItsPeers) {
  Pair pair;
  for (int i = 0; i < 5; ++i) {
    pair.rig.net().stall(seconds(20));
    pair.run_for(seconds(3));
  }
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
}

TEST(Link, BeatsOftenEnoughForALessPatientPeer) {
  Pair pair({}, [](EndpointOptions& options) {
    options.beat = milliseconds(100);
    options.silence = milliseconds(300);
  });
  pair.run_for(seconds(10));
  EXPECT_TRUE(pair.end->is_up() && pair.there().is_up());
}

// What a link has handed to its connection goes before whatever is sent next. Here nothing
// lies in a kernel beside it, so that the promise can be held to the byte.
TEST(Link, AnUrgentMessageIsBehindTwoChunksOfALargeOneAtMost) {
  constexpr std::size_t kChunk = std::size_t{512} << 10;
  constexpr std::size_t kBody = 32 * kChunk;
  Pair pair({}, nullptr, {.max_bytes = 2 * kBody, .max_body = 2 * kChunk});
  std::vector<std::byte> memory(kBody);
  const auto arrived = [&] {
    const auto is_there = [](std::byte one) { return one != std::byte{}; };
    return static_cast<std::size_t>(std::ranges::partition_point(memory, is_there) -
                                    memory.begin());
  };
  std::size_t at_urgent = 0;
  pair.there().provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
    return WritableBuffer(memory, nullptr);
  };
  pair.there().take = [&](wire::Frame&, Lane) { at_urgent = arrived(); };
  wire::Frame large = message(1000);
  large.parts.push_back(Buffer::adopt(std::vector<std::byte>(kBody, std::byte{1})));
  ASSERT_TRUE(pair.end->send(large, {.channel = 1, .priority = 2}));

  std::size_t most = 0;
  while (arrived() + 4 * kChunk < kBody) {
    const std::size_t before = arrived();
    const std::size_t count = pair.there().message_count();
    ASSERT_TRUE(pair.end->send(message(count), {.channel = 2, .priority = 0}));
    ASSERT_TRUE(pair.rig.net().run_until([&] { return pair.there().message_count() > count; }));
    most = std::max(most, at_urgent - before);
  }

  EXPECT_EQ(most, 2 * kChunk);
}

TEST(Link, KeepsItsQueueThroughAPartitionAndSendsItInOrder) {
  Pair pair(kReconnecting);
  ASSERT_TRUE(pair.end->send(message(0)));
  pair.run_for(milliseconds(10));
  pair.rig.part();
  pair.run_for(seconds(10));
  EXPECT_FALSE(pair.end->is_up());
  EXPECT_EQ(pair.end->link->state(), LinkState::connecting);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(pair.end->send(message(i, {i % 50 == 0 ? std::size_t{200'000} : 100})));
  }
  EXPECT_EQ(pair.end->counters().messages_queued, 200U);

  pair.rig.join();
  pair.run_for(seconds(20));

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
  pair.run_for(milliseconds(10));
  EXPECT_EQ(pair.end->counters().messages_sent, 0U) << "the test wants it to be under way";
  pair.rig.break_connections();
  pair.run_for(seconds(10));

  ASSERT_EQ(pair.there().message_count(), 1U);
  EXPECT_TRUE(is_message(pair.there().messages[0], 7, {2'000'000}));
}

TEST(Link, MemoryOfALargeBodyIsLetGoWhenTheLinkGoesDownHalfway) {
  SimRig rig(kSmall);
  Party far(rig.far());
  Party near(rig.near());
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
  rig.net().run_for(milliseconds(20));
  EXPECT_FALSE(owner->is_unique());

  rig.break_connections();
  rig.net().run_for(milliseconds(10));

  EXPECT_TRUE(owner->is_unique());
}

TEST(Link, WhatIsMoreUrgentOvertakesALargeBodyAndWhatWaits) {
  Pair pair({}, nullptr, {.max_frames = 4, .max_body = kLargePart});
  ASSERT_TRUE(pair.end->send(message(1, {3'000'000}), {.channel = 1, .priority = 3}));
  for (std::uint64_t i = 10; i < 20; ++i) {
    ASSERT_TRUE(pair.end->send(message(i, {50'000}), {.channel = 2, .priority = 2}));
  }
  ASSERT_TRUE(pair.end->send(message(2), {.channel = 1, .priority = 3}));
  ASSERT_TRUE(pair.end->send(message(3), {.channel = 3, .priority = 0}));
  pair.run_for(seconds(2));

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
  pair.run_for(seconds(5));

  EXPECT_EQ(pair.there().message_count(), 7U);
  EXPECT_LE(most, 900'000U);
}

TEST(Link, ALargeMessageThatNobodyIsReadyForWaitsUntilSomebodyIs) {
  Pair pair;
  int asked = 0;
  pair.there().provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
    ++asked;
    return WritableBuffer();
  };
  pair.there().is_ready = false;
  pair.run_for(milliseconds(30));  // Past a tick of the beats; the next is 100 ms later.
  ASSERT_TRUE(pair.end->send(message(1, {200'000})));
  ASSERT_TRUE(pair.end->send(message(2, {10}), {.channel = 1}));
  pair.run_for(milliseconds(20));
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(pair.there().message_count(), 1U) << "what is small needs nobody";

  pair.there().is_ready = true;
  {
    const loop::Turn turn(pair.there().loop());
    pair.there().link->resume();
  }
  EXPECT_EQ(asked, 1);
  pair.run_for(milliseconds(20));

  EXPECT_EQ(pair.there().message_count(), 2U);
}

TEST(Link, ALargeMessageThatNobodyIsReadyForComesAllTheSameInTheEnd) {
  Pair pair;
  pair.there().is_ready = false;
  ASSERT_TRUE(pair.end->send(message(1, {200'000})));

  pair.run_for(seconds(2));

  EXPECT_EQ(pair.there().message_count(), 1U);
}

TEST(Link, LargeBodiesThatWaitAtTheReceiverHoldUpTheNext) {
  Pair pair;
  pair.there().is_holding = true;
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(pair.end->send(message(i, {2'000'000})));
  pair.run_for(seconds(1));
  EXPECT_EQ(pair.there().message_count(), 4U);

  pair.there().release();
  pair.run_for(seconds(1));
  EXPECT_EQ(pair.there().message_count(), 10U);
}

TEST(Link, ClosingGivesUpAtItsDeadlineAndSaysHowMuchIsLeft) {
  Pair pair;
  pair.there().is_holding = true;
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(pair.end->send(message(i, {60'000})));
  pair.end->close();
  pair.run_for(milliseconds(4900));
  EXPECT_FALSE(pair.end->is_closed());
  pair.run_for(milliseconds(200));

  ASSERT_TRUE(pair.end->is_closed());
  EXPECT_EQ(pair.end->why_closed->code(), Code::timeout);
  EXPECT_NE(pair.end->why_closed->message().find("messages were still queued"), std::string::npos);
}

TEST(Link, ClosingWhileItIsBeingMadeStillDeliversWhatIsQueued) {
  SimRig rig(kSmall);
  Party far(rig.far());
  Party near(rig.near());
  far.listen(kThere);
  LinkEnd& end = near.connect(kThere);
  rig.net().run_for(Duration::zero());
  ASSERT_TRUE(end.send(message(5)));
  end.close();
  rig.net().run_for(seconds(1));

  EXPECT_TRUE(end.is_closed());
  EXPECT_EQ(end.why_closed->code(), Code::cancelled);
  EXPECT_EQ(far.end().message_count(), 1U);
}

TEST(Link, ClosingBetweenTwoTriesEndsItSoon) {
  SimRig rig(kSmall);
  Party near(rig.near());
  LinkEnd& end = near.connect(kThere, kReconnecting);
  rig.net().run_for(seconds(30));
  EXPECT_GT(end.down_count(), 5);
  EXPECT_LT(end.down_count(), 20) << "it backs off";

  end.close();
  EXPECT_FALSE(end.is_closed()) << "never from inside close()";
  rig.net().run_for(Duration::zero());

  EXPECT_TRUE(end.is_closed());
}

TEST(Link, APeerThatNeverAnswersIsGivenUpAtTheHandshakesDeadline) {
  SimRig rig({.dial_patience = seconds(60)});
  Party near(rig.near());
  Party far(rig.far());
  far.listen(kThere);
  rig.part();
  LinkEnd& end = near.connect(kThere);
  rig.net().run_for(milliseconds(4900));
  EXPECT_FALSE(end.is_closed());
  rig.net().run_for(milliseconds(200));

  ASSERT_TRUE(end.is_closed());
  EXPECT_EQ(end.why_closed->code(), Code::unavailable);
  EXPECT_NE(end.why_closed->message().find("handshake"), std::string::npos);
}

TEST(Link, TellsWhatMayNotHaveArrived) {
  Pair pair;
  pair.there().is_holding = true;
  ASSERT_TRUE(pair.end->send(message(1, {1000})));
  EXPECT_EQ(pair.end->counters().cost_unconfirmed, 1128U);
  pair.rig.break_connections();
  pair.run_for(seconds(1));

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
