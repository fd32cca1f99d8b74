// Closing: both sides hear of it, once, whoever closes and whenever.

#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

// Frames of all kinds, without end.
Stream::Make endless() { return frames_of(mixed_shape, 0); }

Address unused_address(Rig& rig) {
  // Was listened on, so that it is complete, and is not any more.
  return Host(rig, rig.address()).address();
}

}  // namespace

TEST_P(DriverSuite, ClosingTellsBothSidesOnceAndNotFromInsideClose) {
  Host& host = listen();
  auto [near, far] = connect(host);

  near.close();

  ASSERT_TRUE(run_until([&to = near, &from = far] { return to.is_closed() && from.is_closed(); }));
  rig->settle();
  EXPECT_EQ(near.closed_count(), 1);
  EXPECT_EQ(far.closed_count(), 1);
  EXPECT_EQ(near.closed_with(), Code::cancelled);
  EXPECT_EQ(far.closed_with(), Code::unavailable);
}

TEST_P(DriverSuite, TheOneWhoAcceptedMayCloseToo) {
  Host& host = listen();
  auto [near, far] = connect(host);

  far.close();

  ASSERT_TRUE(run_until([&to = near, &from = far] { return to.is_closed() && from.is_closed(); }));
  EXPECT_EQ(near.closed_with(), Code::unavailable);
  EXPECT_EQ(far.closed_with(), Code::cancelled);
}

TEST_P(DriverSuite, ClosingTwiceIsClosingOnce) {
  Host& host = listen();
  End& near = connect(host).first;
  {
    const loop::Turn turn(near.loop());
    near.close();
    near.close();
  }
  ASSERT_TRUE(run_until([&] { return near.is_closed(); }));

  near.close();

  rig->settle();
  EXPECT_EQ(near.closed_count(), 1);
}

TEST_P(DriverSuite, ClosingWithDataUnderWayTellsBothSidesOnce) {
  for (const bool dialer_closes : {true, false}) {
    for (const std::size_t moment : {0, 7}) {
      Host& host = listen([](End& end) { expect_frames(end, mixed_shape, 0); });
      auto [near, far] = connect(host);
      expect_frames(near, mixed_shape, 0);
      Stream there(near, kEndless, endless());
      Stream back(far, kEndless, endless());
      there.start();
      back.start();
      EXPECT_TRUE(run_until([&, &to = near, &from = far] {
        return to.frame_count() >= moment && from.frame_count() >= moment;
      }));

      End& closer = dialer_closes ? near : far;
      End& other = dialer_closes ? far : near;
      closer.close();

      ASSERT_TRUE(run_until([&] { return closer.is_closed() && other.is_closed(); }));
      EXPECT_EQ(closer.closed_with(), Code::cancelled);
      EXPECT_EQ(other.closed_with(), Code::unavailable);
      near.drop();
      far.drop();
    }
  }
}

TEST_P(DriverSuite, BothSidesMayCloseAtOnce) {
  Host& host = listen();
  auto [near, far] = connect(host);

  near.close();
  far.close();

  ASSERT_TRUE(run_until([&to = near, &from = far] { return to.is_closed() && from.is_closed(); }));
  rig->settle();
  EXPECT_EQ(near.closed_count() + far.closed_count(), 2);
}

TEST_P(DriverSuite, NothingIsSentAfterClosing) {
  Host& host = listen();
  End& near = connect(host).first;
  near.close();
  wire::Frame frame = make_frame({8, {8}}, 1);

  EXPECT_FALSE(near.send(frame));

  EXPECT_TRUE(is_frame(frame, {8, {8}}, 1)) << "a refused frame is untouched";
  ASSERT_TRUE(run_until([&] { return near.is_closed(); }));
  EXPECT_FALSE(near.send(frame));
}

TEST_P(DriverSuite, ADroppedConnectionTellsTheOtherSideOnly) {
  Host& host = listen();
  auto [near, far] = connect(host);
  Stream back(far, kEndless, endless());
  back.start();

  near.drop();

  ASSERT_TRUE(run_until([&end = far] { return end.is_closed(); }));
  EXPECT_EQ(far.closed_with(), Code::unavailable);
  rig->settle();
  EXPECT_EQ(near.closed_count(), 0);
}

TEST_P(DriverSuite, AConnectionMayBeDestroyedInsideOnClosed) {
  Host& host = listen([](End& end) { end.when_closed = [&end] { end.connection.reset(); }; });
  auto [near, far] = connect(host);
  {
    const loop::Turn turn(near.loop());
    near.when_closed = [&end = near] { end.connection.reset(); };
  }
  Stream there(near, kEndless, endless());
  Stream back(far, kEndless, endless());
  there.start();
  back.start();

  near.close();

  ASSERT_TRUE(run_until([&to = near, &from = far] { return to.is_closed() && from.is_closed(); }));
  rig->settle();
  EXPECT_EQ(near.closed_count() + far.closed_count(), 2);
}

TEST_P(DriverSuite, DialingNobodyEndsUnavailable) {
  End& near = dial(unused_address(*rig));
  EXPECT_TRUE(near.send(make_frame({8, {100}}, 1)) || near.is_closed());

  ASSERT_TRUE(run_until([&] { return near.is_closed(); }));
  EXPECT_EQ(near.closed_with(), Code::unavailable);
  rig->settle();
  EXPECT_EQ(near.closed_count(), 1);
}

TEST_P(DriverSuite, AConnectionMayBeClosedOrDroppedWhileItIsDialed) {
  Host& host = listen();
  const Address nobody = unused_address(*rig);
  for (const Address& address : {host.address(), nobody}) {
    End* closed = nullptr;
    {
      const loop::Turn turn(rig->near().loop);
      End& dropped = dial(address);
      dropped.drop();
      closed = &dial(address);
      closed->close();
    }
    ASSERT_TRUE(run_until([&] { return closed->is_closed(); }));
    EXPECT_EQ(closed->closed_with(), Code::cancelled);
  }
  rig->settle();
  for (std::size_t i = 0; i < host.count(); ++i) {
    EXPECT_TRUE(run_until([&] { return host.end(i).is_closed(); }));
  }
}

TEST_P(DriverSuite, ListeningTwiceOnOneAddressIsAnErrorThatSaysSo) {
  Host& host = listen();
  const Rig::Side far = rig->far();
  const loop::Turn turn(far.loop);

  auto second = far.driver.listen(host.address(), [](auto) -> Sink& { std::abort(); });

  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find(host.address().to_string()), std::string::npos)
      << second.error().describe();
}

TEST_P(DriverSuite, AnAddressIsFreeAgainOnceItsListenerIsGone) {
  Host& first = listen();
  const Address address = first.address();
  first.stop_listening();

  Host second(*rig, address);

  End& near = dial(address);
  EXPECT_TRUE(run_until([&] { return second.count() == 1; }));
  near.drop();
}

TEST_P(DriverSuite, ConnectionsOutliveTheirListener) {
  Host& host = listen();
  auto [near, far] = connect(host);

  host.stop_listening();

  EXPECT_TRUE(near.send(make_frame({8, {8}}, 1)));
  EXPECT_TRUE(far.send(make_frame({8, {8}}, 2)));
  EXPECT_TRUE(
      run_until([&to = near, &from = far] { return to.has_frames() && from.has_frames(); }));
  End& late = dial(host);
  ASSERT_TRUE(run_until([&] { return late.is_closed(); }));
  EXPECT_EQ(late.closed_with(), Code::unavailable);
}

TEST_P(DriverSuite, AnAddressOfAnotherSchemeIsRefused) {
  const Address other{.scheme = "pigeon", .host = "roof", .port = 0, .last_port = 0};
  const Rig::Side near = rig->near();
  const loop::Turn turn(near.loop);
  End end(near.loop);

  const auto dialed = near.driver.dial(other, end);
  const auto listened = near.driver.listen(other, [](auto) -> Sink& { std::abort(); });

  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code(), Code::invalid);
  ASSERT_FALSE(listened);
  EXPECT_EQ(listened.error().code(), Code::invalid);
}

TEST_P(DriverSuite, EachEndKnowsWhereTheOtherIs) {
  Host& host = listen();
  auto [near, far] = connect(host);
  const std::string scheme(rig->near().driver.scheme());

  {
    const loop::Turn turn(near.loop());
    EXPECT_TRUE(near.connection->peer().address.starts_with(scheme + "://"));
  }
  const loop::Turn turn(far.loop());
  EXPECT_TRUE(far.connection->peer().address.starts_with(scheme + "://"));
}

}  // namespace muster::net::testing
