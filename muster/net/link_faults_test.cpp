// Links under seeded faults: whatever breaks, order holds in each lane, nothing
// comes twice, and what is sent once all is well again arrives.

#include <array>
#include <map>

#include <gtest/gtest.h>

#include "muster/net/testing/link_end.h"
#include "muster/net/testing/pattern.h"
#include "muster/net/testing/sim_rig.h"

namespace muster::net {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::index_of;
using testing::LinkEnd;
using testing::message;
using testing::Party;
using testing::SimNet;
using testing::SimOptions;
using testing::SimRig;

const Address kThere = {.scheme = "sim", .host = "far/x", .port = 0, .last_port = 0};

// What came, per lane; complains of what is out of order or not whole.
struct Log {
  std::map<std::pair<int, int>, std::vector<std::uint64_t>> lanes;

  void take(const wire::Frame& frame, Lane lane, std::uint64_t seed) {
    const std::uint64_t index = index_of(frame.head);
    auto& seen = lanes[{lane.channel, lane.priority}];
    EXPECT_TRUE(seen.empty() || index > seen.back()) << "seed " << seed;
    seen.push_back(index);
    for (std::size_t i = 0; i < frame.parts.size(); ++i) {
      EXPECT_TRUE(testing::matches(frame.parts[i].bytes(), index + i)) << "seed " << seed;
    }
  }
};

// Each seed's network has its own delays, down to none, and queues of its own length.
SimOptions options_of(std::uint64_t seed) {
  return {.seed = seed,
          .min_delay = Duration::zero(),
          .max_delay = microseconds(testing::scramble(2 * seed) % 4000),
          .max_frames = 2 + testing::scramble(2 * seed + 1) % 16,
          .max_body = kLargePart,
          .lends = seed % 2 == 0};
}

struct World {
  explicit World(std::uint64_t the_seed)
      : seed(the_seed), rig(options_of(the_seed)), near(rig.near(), tweak()) {
    start_far();
    end = &near.connect(kThere,
                        {.reconnect = true,
                         .first_retry = milliseconds(20),
                         .longest_retry = milliseconds(500),
                         .where = {},
                         .named = {}},
                        [this](LinkEnd& made) { listen_to(made, from_far); });
  }
  // Both allow little to wait, so that every limit is met.
  std::function<void(EndpointOptions&)> tweak() {
    return [this](EndpointOptions& options) {
      options.window = kMinWindow;
      options.max_queued = 300'000;
      options.grant_budget = 150'000;
      options.lent_from = 80'000;
      options.random = [this] { return net.chance(); };
    };
  }
  void listen_to(LinkEnd& made, Log& log) {
    made.take = [this, &log](wire::Frame& frame, Lane lane) { log.take(frame, lane, seed); };
  }
  void start_far() {
    far = std::make_unique<Party>(rig.far(), tweak());
    far->listen(kThere, [this](LinkEnd& made) { listen_to(made, from_near); });
  }
  LinkEnd* there() { return far && far->count() > 0 ? &far->end(far->count() - 1) : nullptr; }

  // Sends one message of a random size on a random lane.
  bool send(LinkEnd& from) {
    const std::uint64_t index = next++;
    std::vector<std::size_t> sizes;
    for (std::uint64_t i = net.chance() % 4; i > 0; --i) {
      const std::uint64_t chance = net.chance();
      sizes.push_back(chance % 12 == 0 ? chance / 12 % 150'000 : chance / 12 % 500);
    }
    const Lane lane = {static_cast<std::uint32_t>(net.chance() % 3),
                       static_cast<std::uint8_t>(net.chance() % 2)};
    wire::Frame frame = message(index, sizes);
    for (const Buffer& part : frame.parts) lent.push_back(part);
    return from.send(frame, lane).has_value();
  }

  void step() {
    const std::uint64_t chance = net.chance() % 100;
    if (chance < 60) {
      send(*end);
    } else if (chance < 75) {
      if (LinkEnd* other = there(); other != nullptr && other->is_up()) send(*other);
    } else if (chance < 92) {
      net.run_for(microseconds(net.chance() % 5000));
    } else if (chance < 95) {
      rig.break_connections();
    } else if (chance < 97) {
      rig.part();
      net.run_for(milliseconds(net.chance() % 4000));
      rig.join();
    } else if (chance < 98) {
      far.reset();
      net.run_for(milliseconds(net.chance() % 300));
      start_far();
    } else {
      net.stall(milliseconds(net.chance() % 5000));
    }
  }

  std::uint64_t seed;
  std::uint64_t next = 1;
  std::vector<Buffer> lent;  // It may still be read when its sender has forgotten it.
  Log from_near;
  Log from_far;
  SimRig rig;
  SimNet& net = rig.net();
  Party near;
  std::unique_ptr<Party> far;
  LinkEnd* end = nullptr;
};

class LinkFaults : public ::testing::TestWithParam<int> {};

TEST_P(LinkFaults, OrderHoldsNothingComesTwiceAndAllIsWellInTheEnd) {
  std::size_t downs = 0;
  std::size_t came = 0;
  for (std::uint64_t seed = GetParam(); seed < static_cast<std::uint64_t>(GetParam()) + 100;
       ++seed) {
    World world(seed);
    for (int step = 0; step < 60; ++step) world.step();

    // Once it is calm, all that was kept and all that is sent must arrive.
    world.net.run_for(seconds(20));
    ASSERT_TRUE(world.end->is_up()) << "seed " << seed;
    EXPECT_EQ(world.end->counters().messages_queued, 0U) << "seed " << seed;
    const std::size_t before = world.there()->message_count();
    std::size_t sent = 0;
    for (int i = 0; i < 20; ++i) sent += world.send(*world.end) ? 1 : 0;
    world.net.run_for(seconds(5));
    EXPECT_EQ(world.there()->message_count(), before + sent) << "seed " << seed;

    world.end->close();
    world.net.run_for(seconds(1));
    ASSERT_TRUE(world.end->is_closed()) << "seed " << seed;
    EXPECT_EQ(world.end->why_closed->code(), Code::cancelled) << "seed " << seed;
    EXPECT_EQ(world.net.open_ends(), 0U) << "seed " << seed;
    downs += static_cast<std::size_t>(world.end->down_count());
    for (const auto& [lane, indices] : world.from_near.lanes) came += indices.size();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(downs, 200U) << "too little went wrong to prove anything";
  EXPECT_GT(came, 2500U) << "too little arrived to prove anything";
}

INSTANTIATE_TEST_SUITE_P(Seeds, LinkFaults, ::testing::Range(1, 1001, 100));

}  // namespace
}  // namespace muster::net
