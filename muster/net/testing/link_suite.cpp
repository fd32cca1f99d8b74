#include "muster/net/testing/link_suite.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include "muster/net/testing/pattern.h"

namespace muster::net::testing {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LinkSuite);

namespace {

using std::chrono::milliseconds;

constexpr DialOptions kReconnecting = {.reconnect = true,
                                       .first_retry = milliseconds(2),
                                       .longest_retry = milliseconds(50),
                                       .where = {},
                                       .named = {}};

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

TEST_P(LinkSuite, BothEndsComeUpAndKnowEachOther) {
  Party far(rig->far(), [](EndpointOptions& options) { options.name = "far"; });
  Party near(rig->near(), [](EndpointOptions& options) { options.name = "near"; });

  LinkEnd& end = near.connect(far.listen(rig->address()));
  ASSERT_TRUE(run_until([&] { return end.is_up() && far.count() == 1; }));

  const loop::Turn turn(end.loop());
  EXPECT_EQ(end.link->peer().name, "far");
  EXPECT_EQ(end.link->peer().version, 1);
  EXPECT_EQ(end.link->state(), LinkState::up);
}

TEST_P(LinkSuite, MessagesOfEverySizeArriveWholeAndInOrder) {
  Party far(rig->far());
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address()));
  std::vector<std::size_t> sizes = {0, 1, 63, 64, 65, 127, 128, 129, 1000};
  for (std::size_t at = 2048; at <= (std::size_t{8} << 20); at *= 2) {
    sizes.insert(sizes.end(), {at - 1, at, at + 1});
  }
  if (kIsFast) sizes.insert(sizes.end(), {std::size_t{64} << 20, std::size_t{256} << 20});

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

// What may lie in the driver and in the kernel before a small message.
constexpr std::size_t kAhead = std::size_t{10} << 20;

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
    EXPECT_LE(ahead[i] - std::min(ahead[i], before[i]), kAhead) << "small message " << i;
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

TEST_P(LinkSuite, AWrongTokenLetsNobodyInAndBothAreToldWhy) {
  Party far(rig->far());
  Party near(rig->near(),
             [](EndpointOptions& options) { options.token = token("not the token of the rest"); });
  const Address address = far.listen(rig->address());

  LinkEnd* made = nullptr;
  {
    // In one turn, so that the refusal cannot come in between.
    const loop::Turn turn(rig->near().loop);
    made = &near.connect(address, kReconnecting);
    ASSERT_TRUE(made->send(message(1)));
  }
  LinkEnd& end = *made;

  ASSERT_TRUE(run_until([&] { return end.is_closed(); }));
  EXPECT_EQ(end.closed_with().code(), Code::invalid);
  EXPECT_NE(end.closed_with().message().find("the tokens differ"), std::string::npos);
  EXPECT_EQ(end.up_count(), 0);
  EXPECT_EQ(far.count(), 0U);
}

TEST_P(LinkSuite, AnOldVersionIsRefusedWithBothRanges) {
  Party far(rig->far(), [](EndpointOptions& options) { options.versions = {2, 3}; });
  Party near(rig->near());

  LinkEnd& end = near.connect(far.listen(rig->address()));

  ASSERT_TRUE(run_until([&] { return end.is_closed(); }));
  EXPECT_EQ(end.closed_with().code(), Code::unsupported);
  EXPECT_NE(end.closed_with().message().find("the client speaks 1, the server 2 to 3"),
            std::string::npos)
      << end.closed_with().message();
  EXPECT_EQ(far.count(), 0U);
}

// A client of the driver that proves nothing, whatever it says.
TEST_P(LinkSuite, WithoutAProofNothingIsDelivered) {
  Party far(rig->far(),
            [](EndpointOptions& options) { options.handshake_deadline = milliseconds(100); });
  const Address address = far.listen(rig->address());
  const Rig::Side near = rig->near();

  for (int kind = 0; kind <= 14; ++kind) {
    End stranger(near.loop);
    {
      const loop::Turn turn(near.loop);
      auto dialed = near.driver.dial(address, stranger);
      ASSERT_TRUE(dialed);
      stranger.connection = *std::move(dialed);
    }
    wire::Frame frame = message(7, {64});
    LinkHead head;
    head.version = kind % 2 == 0 ? 1 : 0;
    head.kind = static_cast<Kind>(kind);
    head.aux = 192;
    write_link_head(head, frame.head);
    ASSERT_TRUE(kind == 0 || stranger.send(frame));
    ASSERT_TRUE(run_until([&] { return stranger.is_closed(); })) << kind;
  }

  EXPECT_EQ(far.count(), 0U);
}

TEST_P(LinkSuite, ALargeFrameBeforeTheProofEndsTheConnection) {
  Party far(rig->far());
  const Address address = far.listen(rig->address());
  const Rig::Side near = rig->near();
  End stranger(near.loop);
  {
    const loop::Turn turn(near.loop);
    stranger.connection = *near.driver.dial(address, stranger);
  }
  ASSERT_TRUE(stranger.send(message(7, {kLargePart})));
  EXPECT_TRUE(run_until([&] { return stranger.is_closed(); }));
  EXPECT_EQ(far.count(), 0U);
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

TEST_P(LinkSuite, ClosingDeliversWhatWasQueued) {
  constexpr std::size_t kCount = 500;
  const auto sizes = [](std::size_t i) {
    return std::vector<std::size_t>{i % 50 == 7 ? std::size_t{1} << 20 : i * 10};
  };
  Party far(rig->far(), [](EndpointOptions& options) { options.window = kMinWindow; });
  Party near(rig->near());
  LinkEnd& end = near.connect(far.listen(rig->address()));
  ASSERT_TRUE(run_until([&] { return end.is_up(); }));

  {
    const loop::Turn turn(end.loop());
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_TRUE(end.send(message(i, sizes(i))));
    end.close();
    EXPECT_EQ(end.send(message(0)).error().code(), Code::unavailable);
  }

  ASSERT_TRUE(run_until([&] { return end.is_closed() && far.end().is_closed(); }));
  EXPECT_EQ(end.closed_with().code(), Code::cancelled) << end.closed_with().message();
  EXPECT_EQ(far.end().closed_with().code(), Code::unavailable);
  const auto messages = far.end().take_messages();
  ASSERT_EQ(messages.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_TRUE(is_message(messages[i], i, sizes(i)));
}

TEST_P(LinkSuite, BothMayCloseAtOnceAndStillDeliver) {
  constexpr std::size_t kCount = 300;
  rig = GetParam().make_rig(Sides::together);
  Party far(rig->far(), [](EndpointOptions& options) { options.window = kMinWindow; });
  Party near(rig->near(), [](EndpointOptions& options) { options.window = kMinWindow; });
  LinkEnd& end = near.connect(far.listen(rig->address()));
  ASSERT_TRUE(run_until([&] { return end.is_up() && far.count() == 1; }));

  {
    const loop::Turn turn(end.loop());
    for (LinkEnd* one : {&end, &far.end()}) {
      for (std::size_t i = 0; i < kCount; ++i) ASSERT_TRUE(one->send(message(i, {5000})));
      one->close();
    }
  }

  ASSERT_TRUE(run_until([&] { return end.is_closed() && far.end().is_closed(); }));
  for (LinkEnd* one : {&end, &far.end()}) {
    EXPECT_EQ(one->message_count(), kCount);
    EXPECT_EQ(one->closed_with().code(), Code::cancelled) << one->closed_with().message();
  }
}

TEST_P(LinkSuite, ComesBackAfterThePeersRestartAndSendsWhatWasQueued) {
  auto far = std::make_unique<Party>(rig->far());
  Party near(rig->near());
  const Address address = far->listen(rig->address());
  LinkEnd& end = near.connect(address, kReconnecting);
  ASSERT_TRUE(end.send(message(0)));
  ASSERT_TRUE(run_until([&] { return far->count() == 1 && far->end().message_count() == 1; }));

  far.reset();
  ASSERT_TRUE(run_until([&] { return end.down_count() > 0; }));
  for (std::size_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(end.send(message(i, {i == 50 ? std::size_t{300'000} : i})));
  }
  Party again(rig->far());
  again.listen(address);

  ASSERT_TRUE(run_until([&] { return again.count() == 1 && again.end().message_count() == 100; }));
  const auto messages = again.end().take_messages();
  for (std::size_t i = 1; i <= 100; ++i) {
    EXPECT_TRUE(is_message(messages[i - 1], i, {i == 50 ? std::size_t{300'000} : i}));
  }
  EXPECT_EQ(end.up_count(), 2);
}

TEST_P(LinkSuite, WithNobodyThereItSaysSoOrKeepsTrying) {
  Party near(rig->near());
  const Address nowhere = [&] {
    Party far(rig->far());
    return far.listen(rig->address());
  }();

  LinkEnd& once = near.connect(nowhere);
  LinkEnd& again = near.connect(nowhere, kReconnecting);

  ASSERT_TRUE(run_until([&] { return once.is_closed() && again.down_count() > 3; }));
  EXPECT_EQ(once.closed_with().code(), Code::unavailable);
  EXPECT_EQ(once.up_count(), 0);
  again.close();
  ASSERT_TRUE(run_until([&] { return again.is_closed(); }));
  EXPECT_EQ(again.closed_with().code(), Code::cancelled);
}

TEST_P(LinkSuite, ABodyAboveFourGibibytesArrivesFromASparseSource) {
  // Slow where every byte is looked after; the code is the same.
  const bool is_long = kIsFast || from_environment("MUSTER_LONG", 0) == 1;
  const std::size_t size =
      is_long ? (std::size_t{4} << 30) + 12'345 : (std::size_t{64} << 20) + 12'345;
  const Sparse source(size);
  const Sparse target(size);
  fill(source.bytes().first(5000), 1);
  fill(source.bytes().last(5000), 2);
  std::atomic<bool> is_right = false;
  Party far(rig->far());
  Party near(rig->near());
  const Address address = far.listen(rig->address(), [&](LinkEnd& end) {
    end.provide = [&](const wire::Head&, std::size_t, std::uint64_t) {
      return WritableBuffer(target.bytes(), nullptr);
    };
    end.take = [&](wire::Frame& frame, Lane) {
      const auto got = frame.parts[0].bytes();
      is_right = got.size() == size && matches(got.first(5000), 1) && matches(got.last(5000), 2);
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
