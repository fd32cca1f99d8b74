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

// A receiver that stands still in the middle of a body, while its sender gives up and uses
// the memory again, and then goes on reading what lies in its socket.
TEST(LendingOverTcp, WhatIsReadAfterItsSenderHasGivenUpIsNoMessage) {
  const std::unique_ptr<Rig> rig = tcp_rig();
  Party far(rig->far());
  Party near(rig->near());
  std::atomic<bool> is_granted = false;
  std::atomic<bool> stands_still = false;
  std::atomic<bool> goes_on = false;
  const Address address = far.listen(rig->address(), [&](LinkEnd& end) {
    end.provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
      is_granted = true;
      return WritableBuffer();
    };
    // Under the baton: all of the process stands still.
    end.take = [&](wire::Frame&, Lane) {
      stands_still = true;
      goes_on.wait(false);
    };
  });
  LinkEnd& end = near.connect(address);
  auto memory = std::make_shared<std::vector<std::byte>>(std::size_t{256} << 20);
  fill(*memory, 1);
  ASSERT_TRUE(end.send(frame_of(memory)));
  ASSERT_TRUE(rig->run_until([&] { return is_granted.load(); }));
  ASSERT_TRUE(end.send(message(1), {.channel = 1, .priority = 0}));
  ASSERT_TRUE(rig->run_until([&] { return stands_still.load(); }));

  {
    const loop::Turn turn(end.loop());
    ASSERT_EQ(end.link->counters().messages_sent, 1U) << "the test wants the body under way";
    end.link.reset();
  }
  ASSERT_TRUE(rig->run_until([&] { return memory.use_count() == 1; }));
  std::ranges::fill(*memory, std::byte{0xEE});
  goes_on = true;
  goes_on.notify_all();

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
