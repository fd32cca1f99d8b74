// Bodies that are lent over real sockets.

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "muster/drivers/tcp/tcp.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/pattern.h"
#include "muster/net/testing/rig.h"

namespace muster::net::testing {
namespace {

std::unique_ptr<Rig> tcp_rig() {
  return make_loop_rig(
      Sides::apart, [](loop::Loop& loop) { return drivers::make_tcp_driver(loop); },
      [] { return Address{"tcp", "127.0.0.1", 0, 0}; });
}

wire::Frame frame_of(const std::shared_ptr<std::vector<std::byte>>& memory) {
  wire::Frame made;
  made.head.resize(kLinkHead);
  made.parts.push_back(Buffer::keep(*memory, memory));
  return made;
}

// Holds up all of a process the first time, under the baton.
struct Standstill final : loop::Flusher {
  std::atomic<bool> has_come = false;
  std::atomic<bool> is_over = false;

  void flush() override {
    has_come = true;
    is_over.wait(false);
  }
  void end() {
    is_over = true;
    is_over.notify_all();
  }
};

// A receiver that stands still once it has granted a body, which then lies in the sockets as far
// as it may leave; its sender gives up, uses the memory again, and the receiver reads on.
TEST(LendingOverTcp, WhatIsReadAfterItsSenderHasGivenUpIsNoMessage) {
  const std::unique_ptr<Rig> rig = tcp_rig();
  Party far(rig->far());
  Party near(rig->near(), [](EndpointOptions& options) { options.lent_from = 256 << 10; });
  Standstill standstill;
  const Address address = far.listen(rig->address(), [&](LinkEnd& end) {
    // After what the connection has to write, the grant.
    end.take = [&](wire::Frame&, Lane) { end.loop().flush_later(standstill); };
  });
  LinkEnd& end = near.connect(address);
  ASSERT_TRUE(rig->run_until([&] { return end.is_up(); }));
  auto memory = std::make_shared<std::vector<std::byte>>(std::size_t{1} << 20);
  fill(*memory, 1);
  {
    const loop::Turn turn(end.loop());  // Both leave together.
    EXPECT_TRUE(end.send(frame_of(memory), {.channel = 1}));
    EXPECT_TRUE(end.send(message(1), {.channel = 2}));
  }
  EXPECT_TRUE(rig->run_until([&] { return standstill.has_come.load(); }));
  rig->settle();

  {
    const loop::Turn turn(end.loop());
    end.link.reset();
  }
  EXPECT_TRUE(rig->run_until([&] { return memory.use_count() == 1; }));
  std::ranges::fill(*memory, std::byte{0xEE});
  standstill.end();

  EXPECT_TRUE(rig->run_until([&] { return far.end().is_closed(); }));
  EXPECT_EQ(far.end().message_count(), 1U) << "the small one";
}

TEST(LendingOverTcp, ManyBodiesBothWaysArriveWhole) {
  const std::unique_ptr<Rig> rig = tcp_rig();
  Party far(rig->far());
  Party near(rig->near());
  constexpr std::size_t kCount = 12;
  const std::vector<std::size_t> sizes = {std::size_t{4} << 20, (std::size_t{5} << 20) + 1,
                                          (std::size_t{9} << 20) + 4097};
  std::atomic<int> wrong = 0;
  const auto check = [&](LinkEnd& end) {
    end.take = [&](wire::Frame& frame, Lane) {
      const std::uint64_t index = index_of(frame.head);
      if (!is_message(frame, index, {sizes[index % sizes.size()]})) ++wrong;
    };
  };
  LinkEnd& one = near.connect(far.listen(rig->address(), check), {}, check);
  ASSERT_TRUE(rig->run_until([&] { return one.is_up() && far.count() == 1; }));
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(one.send(message(i, {sizes[i % sizes.size()]}), {.channel = 1}));
    ASSERT_TRUE(far.end().send(message(i, {sizes[i % sizes.size()]}), {.channel = 1}));
  }

  EXPECT_TRUE(rig->run_until(
      [&] { return one.message_count() == kCount && far.end().message_count() == kCount; }));
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace muster::net::testing
