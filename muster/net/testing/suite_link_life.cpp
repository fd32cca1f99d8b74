// The life of a link: who is let in, how it closes, how it comes back.

#include <string>

#include "muster/net/testing/link_suite.h"

namespace muster::net::testing {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LinkSuite);

namespace {

using std::chrono::milliseconds;

constexpr DialOptions kReconnecting = {.reconnect = true,
                                       .first_retry = milliseconds(2),
                                       .longest_retry = milliseconds(50),
                                       .where = {},
                                       .named = {}};

}  // namespace

TEST_P(LinkSuite, BothEndsComeUpAndKnowEachOther) {
  Party far(rig->far(), [](EndpointOptions& options) { options.name = "far"; });
  Party near(rig->near(), [](EndpointOptions& options) { options.name = "near"; });

  LinkEnd& end = near.connect(far.listen(rig->address()));
  ASSERT_TRUE(run_until([&] { return end.is_closed() || (end.is_up() && far.count() == 1); }));
  ASSERT_FALSE(end.is_closed()) << end.closed_with().describe();

  const loop::Turn turn(end.loop());
  EXPECT_EQ(end.link->peer().name, "far");
  EXPECT_EQ(end.link->peer().version, 3);
  EXPECT_EQ(end.link->state(), LinkState::up);
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
  Party far(rig->far(), [](EndpointOptions& options) { options.versions = {4, 5}; });
  Party near(rig->near());

  LinkEnd& end = near.connect(far.listen(rig->address()));

  ASSERT_TRUE(run_until([&] { return end.is_closed(); }));
  EXPECT_EQ(end.closed_with().code(), Code::unsupported);
  EXPECT_NE(end.closed_with().message().find("the client speaks 2 to 3, the server 4 to 5"),
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
    head.version = kind % 2 == 0 ? 3 : 0;
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

}  // namespace muster::net::testing
