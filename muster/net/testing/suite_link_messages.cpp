// Messages on a link: sizes, order, overtaking, a full queue.

#include <algorithm>
#include <array>
#include <string>

#include <sys/mman.h>

#include "muster/net/testing/link_suite.h"
#include "muster/net/testing/pattern.h"

namespace muster::net::testing {
namespace {

// Memory that costs nothing until it is touched.
class Sparse {
 public:
  explicit Sparse(std::size_t size)
      : size_(size),
        at_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0)) {}
  ~Sparse() { munmap(at_, size_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

 private:
  std::size_t size_;
  void* at_;
};

// Where a body of `size` bytes is marked: at its ends, and now and then between,
// so that the pages between can stay unmade.
template <typename Visit>
void visit_marks(std::size_t size, Visit&& visit) {
  constexpr std::size_t kEvery = (std::size_t{16} << 20) + 4096;
  constexpr std::size_t kMark = 5000;
  for (std::size_t at = 0; at + kMark < size; at += kEvery) visit(at, kMark);
  visit(size - kMark, kMark);
}

// How much of `memory`, which was zero, has been written to from its start.
std::size_t written(std::span<const std::byte> memory) {
  constexpr std::size_t kStep = 4096;
  std::size_t low = 0;
  std::size_t high = memory.size() / kStep;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    // The pattern has zeros, but no run of them.
    const auto probe = memory.subspan(middle * kStep, 16);
    const bool is_there = std::ranges::any_of(probe, [](std::byte b) { return b != std::byte{}; });
    if (is_there) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low * kStep;
}

}  // namespace

// Before the link is up, at once, gathered with others, and while it waits for credit.
TEST_P(LinkSuite, WhatWasSentAsACopyMayBeOverwrittenAtOnce) {
  constexpr std::size_t kCount = 3000;
  constexpr std::array<std::size_t, 8> kSizes = {64, 0, 1, 100, 64, 2047, 2048, 5000};
  Party far(rig->far());
  Party near(rig->near());
  const Address address = far.listen(rig->address(), [](LinkEnd& one) { one.is_holding = true; });
  LinkEnd& end = near.connect(address);
  std::array<std::byte, 5000> memory{};
  const auto send = [&](std::size_t index) {
    const std::span<std::byte> part = std::span(memory).first(kSizes[index % kSizes.size()]);
    fill(part, index);
    const loop::Turn turn(end.loop());
    ASSERT_TRUE(end.link->send_copy(part));
    std::ranges::fill(part, std::byte{0xEE});
  };

  for (std::size_t i = 0; i < 10; ++i) send(i);
  ASSERT_TRUE(run_until([&] { return end.is_up() && far.count() == 1; }));
  for (std::size_t i = 10; i < kCount; ++i) send(i);
  EXPECT_GT(end.counters().messages_queued, 0U);
  ASSERT_TRUE(run_until([&] {
    far.end().release();
    return far.end().message_count() == kCount;
  }));

  const std::vector<wire::Frame> messages = far.end().take_messages();
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(messages[i].parts[0].size(), kSizes[i % kSizes.size()]) << i;
    ASSERT_TRUE(matches(messages[i].parts[0].bytes(), i)) << i;
  }
}

TEST_P(LinkSuite, MessagesOfEverySizeArriveWholeAndInOrder) {
  Party far(rig->far());
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address()));
  std::vector<std::size_t> sizes = {0, 1, 63, 64, 65, 127, 128, 129, 1000};
  for (std::size_t at = 2048; at <= (std::size_t{8} << 20); at *= 2) {
    sizes.insert(sizes.end(), {at - 1, at, at + 1});
  }

  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_TRUE(end.send(message(i, {sizes[i]})));
    // Not all at once: their memory would add up.
    const auto has_come = [&] { return far.count() == 1 && far.end().message_count() > i / 8 * 8; };
    ASSERT_TRUE(run_until(has_come)) << sizes[i] << " bytes";
  }

  ASSERT_TRUE(run_until([&] { return far.end().message_count() == sizes.size(); }));
  const auto messages = far.end().take_messages();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_TRUE(is_message(messages[i], i, {sizes[i]})) << sizes[i];
  }
}

TEST_P(LinkSuite, BodiesOfAQuarterOfAGibibyteArriveWhole) {
  constexpr std::size_t kQuarter = std::size_t{256} << 20;
  std::vector<std::size_t> sizes = {kQuarter};
  if (kIsFast) sizes.insert(sizes.end(), {kQuarter / 4, kQuarter - 1, kQuarter + 1});
  std::atomic<std::size_t> taken = 0;
  Party far(rig->far());
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address(), [&](LinkEnd& made) {
    made.take = [&](wire::Frame& frame, Lane) {
      EXPECT_TRUE(is_message(frame, taken, {sizes[taken]})) << sizes[taken];
      ++taken;
    };
  }));

  // One after the other: their memory would add up.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_TRUE(end.send(message(i, {sizes[i]})));
    ASSERT_TRUE(run_until([&] { return taken == i + 1; })) << sizes[i] << " bytes";
  }
}

TEST_P(LinkSuite, MessagesOfManyPartsArriveWholeAndInOrder) {
  Party far(rig->far());
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address()));
  constexpr std::size_t kCount = 60;
  const auto sizes = [](std::size_t index) {
    std::vector<std::size_t> made;
    for (std::size_t i = 0; i < scramble(index) % 20; ++i) {
      const std::uint64_t chance = scramble(index * 100 + i);
      made.push_back(chance % 5 == 0 ? chance / 5 % 300'000 : chance / 5 % 3000);
    }
    if (index % 20 == 7) made.assign(wire::kMaxParts, 200);
    return made;
  };

  for (std::size_t i = 0; i < kCount; ++i) ASSERT_TRUE(end.send(message(i, sizes(i))));

  ASSERT_TRUE(run_until([&] { return far.count() == 1 && far.end().message_count() == kCount; }));
  const auto messages = far.end().take_messages();
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_TRUE(is_message(messages[i], i, sizes(i)));
}

TEST_P(LinkSuite, ManySmallMessagesGoBothWaysInOrder) {
  constexpr std::size_t kCount = 20'000;
  const auto check = [](LinkEnd& end) {
    end.take = [expected = std::uint64_t{0}](wire::Frame& frame, Lane) mutable {
      ASSERT_TRUE(is_message(frame, expected, {24}));
      ++expected;
    };
  };
  Party far(rig->far());
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address(), check), {}, check);
  ASSERT_TRUE(run_until([&] { return end.is_up() && far.count() == 1; }));

  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(end.send(message(i, {24})));
    ASSERT_TRUE(far.end().send(message(i, {24})));
  }

  EXPECT_TRUE(run_until(
      [&] { return end.message_count() == kCount && far.end().message_count() == kCount; }));
  EXPECT_EQ(end.counters().messages_sent, kCount);
  EXPECT_EQ(end.counters().bytes_received, 24 * kCount);
}

TEST_P(LinkSuite, SmallMessagesOvertakeALargeBody) {
  rig = GetParam().make_rig(Sides::together);
  const std::size_t large = std::size_t{kIsFast ? 256 : 48} << 20;
  const Sparse memory(large);
  std::vector<std::size_t> ahead;   // Of the large body, when each small one came.
  std::vector<std::size_t> before;  // The same, when it was sent.
  std::atomic<bool> is_large_there = false;
  std::atomic<std::size_t> small = 0;
  Party far(rig->far());
  Party near(rig->near());
  const Address address = far.listen(rig->address(), [&](LinkEnd& end) {
    end.provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
      return WritableBuffer(memory.bytes(), nullptr);
    };
    end.take = [&](wire::Frame& frame, Lane lane) {
      if (lane.channel == 1) {
        EXPECT_TRUE(is_message(frame, 1000, {large}));
        is_large_there = true;
        return;
      }
      EXPECT_TRUE(is_message(frame, small, {64}));
      ahead.push_back(is_large_there ? large : written(memory.bytes()));
      ++small;
    };
  });
  LinkEnd& end = near.connect(address);
  ASSERT_TRUE(end.send(message(1000, {large}), {.channel = 1, .priority = 2}));

  while (!is_large_there) {
    const std::size_t index = before.size();
    {
      const loop::Turn turn(end.loop());
      before.push_back(written(memory.bytes()));
      // Another channel of the same priority, or a more urgent one.
      const auto priority = static_cast<std::uint8_t>(1 + index % 2);
      ASSERT_TRUE(end.send(message(index, {64}), {.channel = 2, .priority = priority}));
    }
    ASSERT_TRUE(run_until([&] { return small > index; }));
  }

  const loop::Turn turn(end.loop());
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    EXPECT_LE(ahead[i] - std::min(ahead[i], before[i]), GetParam().most_ahead)
        << "small message " << i;
  }
}

TEST_P(LinkSuite, APeerThatDoesNotReadFillsTheQueueAndLosesNothing) {
  constexpr std::size_t kCount = 3000;
  Party far(rig->far(), [](EndpointOptions& options) { options.window = kMinWindow; });
  Party near(rig->near(), [](EndpointOptions& options) { options.max_queued = 256 << 10; });
  const Address address = far.listen(rig->address(), [](LinkEnd& end) { end.is_holding = true; });
  LinkEnd& end = near.connect(address);
  ASSERT_TRUE(run_until([&] { return end.is_up() && far.count() == 1; }));

  std::size_t next = 0;
  while (next < kCount) {
    wire::Frame frame = message(next, {1000});
    const Status sent = end.send(frame);
    if (sent) {
      ++next;
      continue;
    }
    ASSERT_EQ(sent.error().code(), Code::overloaded);
    ASSERT_TRUE(is_message(frame, next, {1000})) << "was touched";
    const int rooms = end.room_count();
    far.end().release();
    ASSERT_TRUE(run_until([&] { return end.room_count() > rooms; }));
    const loop::Turn turn(far.end().loop());
    far.end().is_holding = true;
  }
  EXPECT_GT(end.room_count(), 0);
  far.end().release();

  ASSERT_TRUE(run_until([&] { return far.end().message_count() == kCount; }));
  const auto messages = far.end().take_messages();
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_TRUE(is_message(messages[i], i, {1000}));
}

TEST_P(LinkSuite, ABodyAboveThePeersLimitIsInvalidBeforeAnythingIsSent) {
  Party far(rig->far(), [](EndpointOptions& options) { options.max_body = 100'000; });
  Party near(rig->near());
  const Address address = far.listen(rig->address());
  LinkEnd* made = nullptr;
  {
    // Not known yet while the link is being made, which it is until this ends.
    const loop::Turn turn(rig->near().loop);
    made = &near.connect(address);
    ASSERT_TRUE(made->send(message(1, {100'001})));
  }
  LinkEnd& end = *made;
  ASSERT_TRUE(run_until([&] { return end.is_up() && end.refused_count() == 1; }));

  wire::Frame frame = message(2, {100'001});
  const Status sent = end.send(frame);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::invalid);
  EXPECT_TRUE(is_message(frame, 2, {100'001})) << "was touched";
  ASSERT_TRUE(end.send(message(3, {100'000})));

  ASSERT_TRUE(run_until([&] { return far.count() == 1 && far.end().message_count() == 1; }));
  EXPECT_TRUE(is_message(far.end().take_messages()[0], 3, {100'000}));
}

TEST_P(LinkSuite, ABodyAboveFourGibibytesArrivesFromASparseSource) {
  // Seconds where every byte is looked after, and 4 GiB of memory for the body
  // that arrives: in a fast build for each driver once, and smaller elsewhere.
  const bool is_long =
      (kIsFast && GetParam().sides == Sides::apart) || from_environment("MUSTER_LONG", 0) == 1;
  const std::size_t size =
      is_long ? (std::size_t{4} << 30) + 12'345 : (std::size_t{64} << 20) + 12'345;
  const Sparse source(size);
  const Sparse target(size);
  visit_marks(size, [&](std::size_t at, std::size_t length) {
    fill(source.bytes().subspan(at, length), 1, at);
  });
  std::atomic<bool> is_right = false;
  Party far(rig->far());
  Party near(rig->near());
  const Address address = far.listen(rig->address(), [&](LinkEnd& end) {
    end.provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
      return WritableBuffer(target.bytes(), nullptr);
    };
    end.take = [&](wire::Frame& frame, Lane) {
      const auto got = frame.parts[0].bytes();
      is_right = got.size() == size;
      if (!is_right) return;
      visit_marks(size, [&](std::size_t at, std::size_t length) {
        EXPECT_TRUE(matches(got.subspan(at, length), 1, at)) << "at " << at;
      });
    };
  });
  LinkEnd& end = near.connect(address);
  ASSERT_TRUE(run_until([&] { return end.is_up() && far.count() == 1; }));

  wire::Frame frame = message(1);
  frame.parts.push_back(Buffer(source.bytes(), nullptr));
  ASSERT_TRUE(end.send(frame));

  ASSERT_TRUE(run_until([&] { return far.end().message_count() == 1; }));
  EXPECT_TRUE(is_right);
}

}  // namespace muster::net::testing
