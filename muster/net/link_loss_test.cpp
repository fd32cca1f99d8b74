// What a link keeps, and what it forgets, when its connection is lost.

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/link.h"
#include "muster/net/testing/link_end.h"
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

TEST(LinkLoss, BodiesThatWereCutOffTakeNothingFromTheNextConnectionsWindow) {
  SimRig rig({.max_frames = 16, .max_body = kLargePart});
  Party far(rig.far());
  Party near(rig.near());
  far.listen(kThere);
  DialOptions reconnecting;
  reconnecting.reconnect = true;
  LinkEnd& end = near.connect(kThere, reconnecting);
  rig.net().run_for(milliseconds(100));
  // Together they cost all of the window.
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(far.end(0).send(message(i, {2'000'000}), {.channel = i}));
  }
  rig.net().run_for(milliseconds(10));
  ASSERT_EQ(end.message_count(), 0U) << "the test wants them to be under way";
  rig.break_connections();
  rig.net().run_for(seconds(5));
  ASSERT_EQ(far.count(), 2U);

  // Several times the window.
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(far.end(1).send(message(i, {50'000})));
  }
  rig.net().run_for(seconds(10));

  EXPECT_EQ(end.message_count(), 100U);
}

// Each is told as often as it wants to be, and each still notices the other's loss.
TEST(LinkLoss, IsNoticedOnBothSidesHoweverDifferentTheirPatienceIs) {
  for (const Duration beat : {milliseconds(4), milliseconds(30), milliseconds(150)}) {
    SimRig rig;
    Party far(rig.far(), [&](EndpointOptions& options) {
      options.beat = beat;
      options.silence = 3 * beat + milliseconds(20);
    });
    Party near(rig.near());
    far.listen(kThere);
    LinkEnd& end = near.connect(kThere);
    rig.net().run_for(seconds(10));
    ASSERT_TRUE(end.is_up() && far.end(0).is_up());

    rig.part();
    rig.net().run_for(milliseconds(700));
    EXPECT_TRUE(far.end(0).is_closed());
    EXPECT_TRUE(end.is_up());
    rig.net().run_for(milliseconds(2500));
    EXPECT_TRUE(end.is_closed());
  }
}

// Does with its link, while it is told of the loss, all that one may do with a link.
struct Restless final : LinkSink {
  explicit Restless(std::unique_ptr<Link> the_link) : link(std::move(the_link)) {}
  void on_up(Link&) override {}
  void on_message(wire::Frame&, Lane, std::size_t) override {}
  void on_down(const Error&, bool) override {
    is_down = !link->is_up();
    for (const std::size_t size : {std::size_t{10}, std::size_t{50'000}, std::size_t{200'000}}) {
      wire::Frame frame = message(1, {size});
      codes.push_back(link->send(frame).error().code());
    }
    link->resume();
    link->close();
  }
  void on_closed(Error) override { is_closed = true; }

  std::unique_ptr<Link> link;
  bool is_down = false;
  bool is_closed = false;
  std::vector<Code> codes;
};

TEST(LinkLoss, MayBeAnsweredBySendingAndClosingFromInsideTheNews) {
  SimRig rig;
  Party far(rig.far());
  Party near(rig.near());
  std::optional<Restless> end;
  const Address address = {.scheme = "sim", .host = "far/y", .port = 0, .last_port = 0};
  {
    const loop::Turn turn(far.loop());
    ASSERT_TRUE(far.endpoint().listen(std::span(&address, 1), [&](auto link) -> LinkSink& {
      return end.emplace(std::move(link));
    }));
  }
  near.connect(address);
  rig.net().run_for(seconds(1));
  ASSERT_TRUE(end && end->link->is_up());

  rig.break_connections();
  rig.net().run_for(seconds(1));

  EXPECT_TRUE(end->is_down);
  EXPECT_EQ(end->codes, std::vector<Code>(3, Code::unavailable));
  EXPECT_TRUE(end->is_closed);
  const loop::Turn turn(far.loop());
  end.reset();
}

}  // namespace
}  // namespace muster::net
