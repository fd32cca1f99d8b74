// What a link keeps, and what it forgets, when its connection is lost.

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

}  // namespace
}  // namespace muster::net
