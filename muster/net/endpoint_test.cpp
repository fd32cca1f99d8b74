#include "muster/net/endpoint.h"

#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "muster/net/testing/end.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/sim_rig.h"
#include "muster/wire/bytes.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::End;
using testing::LinkEnd;
using testing::message;
using testing::Party;
using testing::SimRig;

const Address kThere = {.scheme = "sim", .host = "far/x", .port = 0, .last_port = 0};

// A peer that knows the token and the handshake, and then says what it wants.
class Rogue {
 public:
  explicit Rogue(SimRig& rig) : rig_(rig), end_(rig.near().loop) {
    const loop::Turn turn(rig.near().loop);
    end_.connection = *rig.near().driver.dial(kThere, end_);
  }

  void say(LinkHead head, wire::Parts parts = {}) {
    wire::Frame frame;
    frame.head.resize(kLinkHead + 8);
    if (head.version == kHandshakeVersion) frame.head.resize(kLinkHead);
    write_link_head(head, frame.head);
    frame.parts = std::move(parts);
    ASSERT_TRUE(end_.send(frame));
    rig_.net().run_for(milliseconds(20));
  }

  void shake_hands() {
    const Introduction me = {.id = {1, 2},
                             .name = "rogue",
                             .versions = {3, 3},
                             .features = 0,
                             .max_body = 1 << 30,
                             .window = kMinWindow,
                             .silence_ms = 100'000};
    Handshake handshake = *Handshake::make(Handshake::Role::client, testing::token(), me, Nonce{});
    std::optional<Handshake::Message> next = handshake.start();
    while (next) {
      say({.version = kHandshakeVersion, .kind = next->kind}, part(next->body));
      const auto frames = end_.take_frames();
      ASSERT_EQ(frames.size(), 1U);
      LinkHead head;
      ASSERT_TRUE(read_link_head(frames[0].head, kHandshakeVersion, head));
      const auto body =
          frames[0].parts.empty() ? std::span<const std::byte>() : frames[0].parts[0].bytes();
      next = *handshake.receive(head.kind, body);
    }
    ASSERT_TRUE(handshake.is_done());
  }

  static wire::Parts part(std::vector<std::byte> bytes) {
    wire::Parts parts;
    parts.push_back(Buffer::adopt(std::move(bytes)));
    return parts;
  }
  static wire::Parts sizes(std::initializer_list<std::uint64_t> list) {
    std::vector<std::byte> bytes(8 * list.size());
    std::size_t at = 0;
    for (std::uint64_t size : list) wire::store(bytes.data() + 8 * at++, size);
    return part(std::move(bytes));
  }

  End& end() { return end_; }

 private:
  SimRig& rig_;
  End end_;
};

struct Attacked {
  explicit Attacked(const testing::SimOptions& net = {},
                    const std::function<void(EndpointOptions&)>& tweak = nullptr)
      : rig(net), party(rig.far(), tweak) {
    party.listen(kThere);
    rogue.emplace(rig);
    rogue->shake_hands();
  }
  LinkEnd& link() { return party.end(); }

  SimRig rig;
  Party party;
  std::optional<Rogue> rogue;
};

TEST(Endpoint, NeedsATokenOfSixteenBytesAndSoundOptions) {
  SimRig rig;
  const auto make = [&](const std::function<void(EndpointOptions&)>& spoil) {
    EndpointOptions options;
    options.token = testing::token();
    spoil(options);
    const loop::Turn turn(rig.far().loop);
    return Endpoint::make(rig.far().loop, std::move(options)).has_value();
  };
  EXPECT_TRUE(make([](EndpointOptions&) {}));
  EXPECT_FALSE(make([](EndpointOptions& options) { options.token.resize(15); }));
  EXPECT_FALSE(make([](EndpointOptions& options) { options.name.resize(65); }));
  EXPECT_FALSE(make([](EndpointOptions& options) { options.window = 1000; }));
  EXPECT_FALSE(make([](EndpointOptions& options) { options.silence = options.beat; }));
}

TEST(Endpoint, ListensOnAllOrOnNone) {
  SimRig rig;
  Party party(rig.far());
  const Address elsewhere = {.scheme = "sim", .host = "far/b", .port = 0, .last_port = 0};
  const Address unknown = {.scheme = "carrier-pigeon", .host = "x", .port = 0, .last_port = 0};
  const loop::Turn turn(party.loop());
  const auto nobody = [](std::unique_ptr<Link>) -> LinkSink& { std::abort(); };

  const auto failed = party.endpoint().listen(std::vector{elsewhere, unknown}, nobody);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::unsupported);
  EXPECT_TRUE(party.endpoint().listen(std::vector{elsewhere}, nobody));
}

TEST(Endpoint, ConnectingWithoutAUsableAddressEndsSoonAndSaysWhy) {
  SimRig rig;
  Party party(rig.far());
  LinkEnd& end =
      party.connect({.scheme = "carrier-pigeon", .host = "x", .port = 0, .last_port = 0});
  rig.net().run_for(milliseconds(1));
  ASSERT_TRUE(end.is_closed());
  EXPECT_EQ(end.why_closed->code(), Code::unsupported);
  EXPECT_NE(end.why_closed->message().find("no such driver"), std::string::npos);
}

TEST(Endpoint, TriesTheNextAddressWhenOneFails) {
  SimRig rig;
  Party far(rig.far());
  Party near(rig.near());
  far.listen(kThere);
  const Address wrong = {.scheme = "sim", .host = "far/wrong", .port = 0, .last_port = 0};
  LinkEnd end(near.loop());
  {
    const loop::Turn turn(near.loop());
    DialOptions options;
    options.named = {"sim"};
    end.link = near.endpoint().connect({wrong, kThere}, end, options);
  }
  rig.net().run_for(seconds(1));
  EXPECT_TRUE(end.is_up());
}

TEST(Endpoint, DropsTheOldestOfTooManyStrangers) {
  SimRig rig;
  Party party(rig.far(), [](EndpointOptions& options) { options.max_strangers = 3; });
  party.listen(kThere);
  std::list<End> strangers;
  for (int i = 0; i < 5; ++i) {
    End& end = strangers.emplace_back(rig.near().loop);
    {
      const loop::Turn turn(rig.near().loop);
      end.connection = *rig.near().driver.dial(kThere, end);
    }
    rig.net().run_for(milliseconds(10));
  }
  std::string closed;
  for (const End& end : strangers) closed += end.is_closed() ? 'x' : '-';
  EXPECT_EQ(closed, "xx---");
  const loop::Turn turn(party.loop());
  EXPECT_EQ(party.endpoint().strangers(), 3U);
}

TEST(Endpoint, LogsOneLineForManyStrangers) {
  int lines = 0;
  log::to(log::Level::warning, [&](log::Level, std::string_view) { ++lines; });
  {
    SimRig rig;
    Party party(rig.far());
    party.listen(kThere);
    for (int i = 0; i < 20; ++i) {
      Rogue rogue(rig);
      rogue.say({.version = 9, .kind = Kind::hello});
      EXPECT_TRUE(rogue.end().is_closed());
    }
  }
  log::to(log::Level::off, nullptr);
  EXPECT_EQ(lines, 1);
}

TEST(Endpoint, TheHandshakesDeadlineEndsAStrangerThatSaysNothing) {
  SimRig rig;
  Party party(rig.far());
  party.listen(kThere);
  Rogue rogue(rig);
  const Introduction me = {.id = {},
                           .name = "x",
                           .versions = {3, 3},
                           .features = 0,
                           .max_body = 1,
                           .window = kMinWindow,
                           .silence_ms = 1};
  rogue.say(
      {.version = 0, .kind = Kind::hello},
      Rogue::part(
          Handshake::make(Handshake::Role::client, testing::token(), me, Nonce{})->start().body));
  rig.net().run_for(seconds(4));
  EXPECT_FALSE(rogue.end().is_closed());
  rig.net().run_for(seconds(2));
  EXPECT_TRUE(rogue.end().is_closed());
}

TEST(Endpoint, AStrangerThatWasRefusedAndGoesOnTalkingIsDroppedAtOnce) {
  SimRig rig;
  Party party(rig.far());
  party.listen(kThere);
  Rogue rogue(rig);
  rogue.say({.version = kHandshakeVersion, .kind = Kind::proof});
  const auto strangers = [&] {
    const loop::Turn turn(party.loop());
    return party.endpoint().strangers();
  };
  EXPECT_EQ(rogue.end().take_frames().size(), 1U) << "it is told why";
  ASSERT_EQ(strangers(), 1U) << "and may read it";

  rogue.say({.version = kHandshakeVersion, .kind = Kind::proof});

  EXPECT_EQ(strangers(), 0U);
  EXPECT_TRUE(rogue.end().is_closed());
}

TEST(Link, APeerThatBreaksTheProtocolEndsTheConnectionAndNothingElse) {
  struct Wrong {
    const char* what;
    LinkHead head;
    wire::Parts parts;
  };
  const wire::Parts some = Rogue::part(std::vector<std::byte>(100));
  const LinkHead plain = {.version = 3, .kind = Kind::message, .aux = 128};
  std::vector<Wrong> wrongs;
  const auto add = [&](const char* what, auto change, wire::Parts parts = {}) {
    LinkHead head = plain;
    change(head);
    wrongs.push_back({what, head, std::move(parts)});
  };
  add("another version", [](LinkHead& head) { head.version = 2; });
  add("flags", [](LinkHead& head) { head.flags = 1; });
  add("a priority that is none", [](LinkHead& head) { head.priority = 4; });
  add("a kind that is none", [](LinkHead& head) { head.kind = static_cast<Kind>(99); });
  add("a handshake again", [](LinkHead& head) { head.kind = Kind::hello; });
  add("credit for nothing", [](LinkHead& head) { head.credit = 1; });
  add("a cost too low", [](LinkHead& head) { head.aux = 127; }, some);
  add("a cost below that of its bytes", [](LinkHead& head) { head.aux = 227; }, some);
  add(
      "a cost below that of a part of which the driver passes none",
      [](LinkHead& head) { head.aux = 128 + 2999; }, Rogue::part(std::vector<std::byte>(3000)));
  add("a cost too high", [](LinkHead& head) { head.aux = 229; }, some);
  add(
      "a chunk of no transfer",
      [](LinkHead& head) {
        head.kind = Kind::chunk;
        head.id = 1;
      },
      some);
  add("a grant of nothing", [](LinkHead& head) {
    head.kind = Kind::grant;
    head.id = 1;
  });
  add("a refusal of nothing", [](LinkHead& head) {
    head.kind = Kind::decline;
    head.id = 1;
  });
  add("an answer to no goodbye", [](LinkHead& head) {
    head.kind = Kind::bye;
    head.aux = 1;
  });
  add(
      "an offer without an id", [](LinkHead& head) { head.kind = Kind::offer; },
      Rogue::sizes({70'000}));
  add(
      "an offer whose cost is below that of its bytes",
      [](LinkHead& head) {
        head.kind = Kind::offer;
        head.id = 1;
        head.aux = 128 + 69'999;
      },
      Rogue::sizes({70'000}));
  add(
      "an offer whose cost is below what the largest costs",
      [](LinkHead& head) {
        head.kind = Kind::offer;
        head.id = 1;
        head.aux = kMinWindow / 4 - 1;
      },
      Rogue::sizes({std::uint64_t{1} << 30}));
  add(
      "an offer above the limit",
      [](LinkHead& head) {
        head.kind = Kind::offer;
        head.id = 1;
      },
      Rogue::sizes({std::uint64_t{17} << 30}));
  add(
      "an offer with a pause at its end",
      [](LinkHead& head) {
        head.kind = Kind::offer;
        head.id = 1;
        head.aux = 70'128;
        head.offset = 70'000;
      },
      Rogue::sizes({70'000}));
  add(
      "an offer of nothing",
      [](LinkHead& head) {
        head.kind = Kind::offer;
        head.id = 1;
      },
      some);
  add(
      "a large part that has no place", [](LinkHead& head) { head.kind = Kind::beat; },
      Rogue::part(std::vector<std::byte>(kLargePart)));

  for (Wrong& wrong : wrongs) {
    Attacked world;
    world.rogue->say(wrong.head, wrong.parts);

    EXPECT_TRUE(world.link().is_closed()) << wrong.what;
    EXPECT_TRUE(world.rogue->end().is_closed()) << wrong.what;
    EXPECT_EQ(world.link().message_count(), 0U) << wrong.what;
    if (!world.link().is_closed()) continue;
    EXPECT_NE(world.link().why_closed->message().find("broke the protocol"), std::string::npos)
        << wrong.what << ": " << world.link().why_closed->message();
  }
}

TEST(Link, AChunkAcrossAPauseEndsTheConnection) {
  for (const std::size_t size : {std::size_t{30'000}, std::size_t{30'001}}) {
    Attacked world;
    LinkHead head = {.version = 3, .kind = Kind::offer, .aux = 70'128, .id = 1, .offset = 30'000};
    world.rogue->say(head, Rogue::sizes({70'000}));
    ASSERT_FALSE(world.link().is_closed());
    head = {.version = 3, .kind = Kind::chunk, .id = 1};
    world.rogue->say(head, Rogue::part(std::vector<std::byte>(size)));

    EXPECT_EQ(world.link().is_closed(), size > 30'000) << size;
  }
}

// What it was lent it may still read.
TEST(Link, APeerThatRefusesWhatItWasLentEndsTheConnection) {
  Attacked world({.lends = true}, [](EndpointOptions& options) { options.lent_from = 80'000; });
  ASSERT_TRUE(world.link().send(message(1, {100'000})));
  world.rig.net().run_for(milliseconds(20));
  world.rogue->say({.version = 3, .kind = Kind::grant, .id = 1});
  ASSERT_FALSE(world.link().is_closed());

  world.rogue->say({.version = 3, .kind = Kind::decline, .id = 1});

  EXPECT_TRUE(world.link().is_closed());
  EXPECT_EQ(world.link().refused_count(), 0U);
}

TEST(Link, APeerThatSaysGoodbyeTwiceIsNotAnsweredAgain) {
  Attacked world;
  const LinkHead bye = {.version = 3, .kind = Kind::bye};
  world.rogue->say(bye);
  ASSERT_FALSE(world.rogue->end().is_closed());

  world.rogue->say(bye);

  EXPECT_TRUE(world.rogue->end().is_closed());
}

TEST(Link, APeerThatSendsMoreThanTheWindowIsCaught) {
  Attacked world;
  world.link().is_holding = true;
  for (int i = 0; i < 16 && !world.link().is_closed(); ++i) {
    world.rogue->say({.version = 3, .kind = Kind::message, .aux = 128 + 60'000},
                     Rogue::part(std::vector<std::byte>(60'000)));
  }
  EXPECT_FALSE(world.link().is_closed());
  for (int i = 0; i < 3 && !world.link().is_closed(); ++i) {
    world.rogue->say({.version = 3, .kind = Kind::message, .aux = 128 + 60'000},
                     Rogue::part(std::vector<std::byte>(60'000)));
  }
  EXPECT_TRUE(world.link().is_closed());
}

TEST(Link, ChunksThatDoNotFollowEndTheConnectionAndFreeTheBody) {
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{140'000}, UINT64_MAX - 1}) {
    Attacked world;
    world.rogue->say({.version = 3, .kind = Kind::offer, .aux = 128 + 140'000, .id = 1},
                     Rogue::sizes({140'000}));
    ASSERT_FALSE(world.link().is_closed());
    world.rogue->say({.version = 3, .kind = Kind::chunk, .aux = 0, .id = 1, .offset = offset},
                     Rogue::part(std::vector<std::byte>(70'000)));
    EXPECT_TRUE(world.link().is_closed()) << offset;
  }
}

TEST(Link, ARefusedBodyComesBackToItsSender) {
  Attacked world;
  ASSERT_TRUE(world.link().send(message(3, {300'000})));
  ASSERT_TRUE(world.link().send(message(4)));
  world.rig.net().run_for(milliseconds(20));
  EXPECT_EQ(world.rogue->end().frame_count(), 3U) << "answer, welcome, offer";

  world.rogue->say({.version = 3, .kind = Kind::decline, .id = 1});

  ASSERT_EQ(world.link().refused_count(), 1U);
  EXPECT_TRUE(testing::is_message(world.link().refused[0], 3, {300'000}));
  EXPECT_EQ(world.rogue->end().frame_count(), 4U) << "what stood behind it goes on";
}

}  // namespace
}  // namespace muster::net
