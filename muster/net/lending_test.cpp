// Bodies that are lent: the connection reads them where they lie, whenever it comes to it.

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/link.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/pattern.h"
#include "muster/net/testing/sim_rig.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::LinkEnd;
using testing::message;
using testing::Party;
using testing::SimRig;

const Address kThere = {.scheme = "sim", .host = "far/x", .port = 0, .last_port = 0};
constexpr std::size_t kBody = std::size_t{5} << 20;

// A body in memory of the test's own, which outlives the network.
struct Body {
  std::shared_ptr<std::vector<std::byte>> memory = std::make_shared<std::vector<std::byte>>(kBody);

  explicit Body(int seed) { testing::fill(*memory, seed); }

  wire::Frame frame() const {
    wire::Frame made;
    made.head.resize(kLinkHead);
    made.parts.push_back(Buffer::keep(*memory, memory));
    return made;
  }
  bool is_back() const { return memory.use_count() == 1; }
  void overwrite() const { std::ranges::fill(*memory, std::byte{0xEE}); }
};

struct Lending : ::testing::Test {
  void connect(const DialOptions& options = {}, std::uint8_t highest = 3) {
    far.emplace(rig.far());
    near.emplace(rig.near(), [&](EndpointOptions& one) { one.versions = {2, highest}; });
    far->listen(kThere);
    end = &near->connect(kThere, options);
    run_for(milliseconds(100));
    ASSERT_TRUE(end->is_up());
  }
  void run_for(Duration time) { rig.net().run_for(time); }
  // The body is under way, and not all of it.
  void send_half(const Body& body) {
    ASSERT_TRUE(end->send(body.frame()));
    run_for(milliseconds(10));
    ASSERT_FALSE(body.is_back());
    ASSERT_EQ(far->end(0).message_count(), 0U);
  }

  const Body first{1};
  const Body second{2};
  SimRig rig{{.bytes_per_second = 100'000'000, .lends = true}};
  std::optional<Party> far;
  std::optional<Party> near;
  LinkEnd* end = nullptr;
};

TEST_F(Lending, BodiesArriveWholeAndInOrderAndTheirMemoryComesBack) {
  connect();
  ASSERT_TRUE(end->send(first.frame()));
  ASSERT_TRUE(end->send(message(7)));
  ASSERT_TRUE(end->send(second.frame()));
  run_for(seconds(2));

  const std::vector<wire::Frame>& messages = far->end(0).messages;
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_TRUE(std::ranges::equal(messages[0].parts[0].bytes(), *first.memory));
  EXPECT_TRUE(testing::is_message(messages[1], 7));
  EXPECT_TRUE(std::ranges::equal(messages[2].parts[0].bytes(), *second.memory));
  EXPECT_TRUE(first.is_back() && second.is_back());
}

// As soon as the memory is back its owner may use it, and nobody may read there any more.
TEST_F(Lending, MemoryComesBackOnlyWhenThePeerHasAllOfIt) {
  connect();
  ASSERT_TRUE(end->send(first.frame()));
  ASSERT_TRUE(rig.net().run_until([&] { return first.is_back(); }));
  const std::vector<std::byte> sent = *first.memory;
  first.overwrite();
  run_for(seconds(2));

  ASSERT_EQ(far->end(0).message_count(), 1U);
  EXPECT_TRUE(std::ranges::equal(far->end(0).messages[0].parts[0].bytes(), sent));
}

// Of what is under way when a connection ends some arrives still, more or less by chance.
TEST(LendingAtTheEnd, WhatIsReadAfterItsSenderHasGivenUpIsNoMessage) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Body body(1);
    SimRig rig({.seed = seed, .max_bytes = 2 * kBody, .lends = true});
    Party far(rig.far());
    Party near(rig.near());
    bool is_granted = false;
    far.listen(kThere, [&](LinkEnd& one) {
      one.provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
        is_granted = true;
        return WritableBuffer();
      };
    });
    LinkEnd& end = near.connect(kThere);
    rig.net().run_for(milliseconds(100));
    ASSERT_TRUE(end.send(body.frame()));
    ASSERT_TRUE(rig.net().run_until([&] { return is_granted; }));
    rig.net().set_reading("far", false);
    rig.net().run_for(milliseconds(100));
    {
      const loop::Turn turn(end.loop());
      end.link.reset();
    }
    ASSERT_TRUE(body.is_back());
    body.overwrite();
    rig.net().set_reading("far", true);
    rig.net().run_for(seconds(2));

    EXPECT_TRUE(far.end(0).is_closed()) << "seed " << seed;
    EXPECT_EQ(far.end(0).message_count(), 0U) << "seed " << seed;
  }
}

TEST_F(Lending, ABodyThatWasCutOffBeginsAnewAfterTheReturn) {
  connect({.reconnect = true, .first_retry = milliseconds(50), .where = {}, .named = {}});
  send_half(first);
  rig.break_connections();
  run_for(seconds(5));

  ASSERT_EQ(far->count(), 2U);
  ASSERT_EQ(far->end(1).message_count(), 1U);
  EXPECT_TRUE(std::ranges::equal(far->end(1).messages[0].parts[0].bytes(), *first.memory));
  EXPECT_TRUE(first.is_back());
}

TEST_F(Lending, APeerThatKnowsNoPausesIsLentNothing) {
  connect({}, 2);
  ASSERT_TRUE(end->send(first.frame()));
  run_for(milliseconds(10));
  rig.net().set_reading("far", false);
  {
    const loop::Turn turn(end->loop());
    end->link.reset();
  }
  // What had left by then was copied.
  first.overwrite();
  rig.net().set_reading("far", true);
  run_for(seconds(2));
  EXPECT_EQ(far->end(0).message_count(), 0U);

  LinkEnd& again = near->connect(kThere);
  ASSERT_TRUE(again.send(second.frame()));
  run_for(seconds(2));

  ASSERT_EQ(far->end(1).message_count(), 1U);
  EXPECT_TRUE(std::ranges::equal(far->end(1).messages[0].parts[0].bytes(), *second.memory));
}

}  // namespace
}  // namespace muster::net
