#include "muster/registries/embedded/member.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/clock.h"

namespace muster::registries::embedded {
namespace {

using std::chrono::milliseconds;

// Whoever serves, as a member sees it: it may be gone at any time, and come back.
struct Serving {
  CarrierSink* sink = nullptr;  // Null while nobody serves.
  std::vector<Kind> heard;      // Since it was there last.
  bool is_away = false;

  void say(const Message& message) { sink->on_packet(encode(message)); }
  void go() { std::exchange(sink, nullptr)->on_gone(Error(Code::unavailable, "gone")); }
};

class FakeCarrier final : public Carrier {
 public:
  explicit FakeCarrier(Serving& serving) : serving_(serving) {}
  bool send(const Message& message) override {
    serving_.heard.push_back(message.kind);
    return true;
  }

 private:
  Serving& serving_;
};

class FakeRoad final : public Road {
 public:
  explicit FakeRoad(Serving& serving) : serving_(serving) {}
  Result<std::unique_ptr<Carrier>> open(CarrierSink& sink) override {
    if (serving_.is_away) return Error(Code::unavailable, "nobody serves");
    serving_.sink = &sink;
    serving_.heard.clear();
    return std::unique_ptr<Carrier>(std::make_unique<FakeCarrier>(serving_));
  }
  bool is_remote() const override { return false; }
  net::Backoff backoff() const override { return net::Backoff(milliseconds(10), milliseconds(10)); }

 private:
  Serving& serving_;
};

struct Listener final : msg::RegistrySink {
  std::string end;
  std::vector<std::string> news;
  void on_admitted(const msg::Member&) override {}
  void on_joined(const msg::Member& member) override { news.push_back("joined " + member.name); }
  void on_left(const msg::Member& member) override { news.push_back("left " + member.name); }
  void on_lost(const msg::Member& member, const Error&) override {
    news.push_back("lost " + member.name);
  }
  void on_unreachable(const Error&) override {}
  void on_ended(Error why) override { end = why.message(); }
};

class EmbeddedMemberTest : public ::testing::Test {
 protected:
  EmbeddedMemberTest() {
    run(milliseconds(0));
    admit();
  }

  void run(Duration after) {
    clock.advance(after);
    while (loop->run_ready()) continue;
  }
  void admit() {
    Message admitted{.kind = Kind::admitted, .is_complete = true};
    admitted.member = self;
    admitted.member.incarnation = 1;
    serving.say(admitted);
  }

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop = *loop::Loop::make({.clock = &clock, .keeper = false});
  const loop::Turn turn{*loop};
  Serving serving;
  Listener listener;
  msg::Member self{
      .name = "a", .type = "worker", .id = Id::random(), .incarnation = 0, .addresses = {}};
  EmbeddedMember member{*loop,
                        std::make_unique<FakeRoad>(serving),
                        {.group = "g", .self = self, .lease = milliseconds(2800)},
                        listener};
};

const std::string kHeard = "the component has left";
const std::string kUnheard = "the component has left unheard";

TEST_F(EmbeddedMemberTest, AGoodbyeThatIsAnsweredEndsIt) {
  member.leave();
  EXPECT_EQ(serving.heard.back(), Kind::leave);
  serving.say({.kind = Kind::released});
  run(milliseconds(0));
  EXPECT_EQ(listener.end, kHeard);
}

TEST_F(EmbeddedMemberTest, AGoodbyeThatNobodyAnswersEndsItSoonAllTheSame) {
  member.leave();
  run(milliseconds(499));
  EXPECT_EQ(listener.end, "");
  run(milliseconds(1));
  EXPECT_EQ(listener.end, kUnheard);
}

// It may have left while nobody served, or while we were not heard.
TEST_F(EmbeddedMemberTest, AsksWhoeverServesNextHowOneWentThatIsNotNamed) {
  msg::Member other{
      .name = "b", .type = "worker", .id = Id::random(), .incarnation = 1, .addresses = {}};
  Message about{.kind = Kind::joined};
  about.member = other;
  serving.say(about);
  serving.go();
  run(milliseconds(10));
  admit();
  EXPECT_EQ(serving.heard, (std::vector{Kind::announce, Kind::miss}));
  EXPECT_EQ(listener.news, std::vector<std::string>{"joined b"});
  about.kind = Kind::left;
  serving.say(about);
  EXPECT_EQ(listener.news, (std::vector<std::string>{"joined b", "left b"}));
}

// Where many leave at once, so do those who serve, one after the other.
TEST_F(EmbeddedMemberTest, WhoeverServesNextHasItsTimeToAnswerAGoodbye) {
  member.leave();
  for (int i = 0; i < 3; ++i) {
    run(milliseconds(400));
    serving.go();
    run(milliseconds(10));
    ASSERT_EQ(serving.heard, (std::vector{Kind::announce, Kind::leave})) << i;
  }
  EXPECT_EQ(listener.end, "");
  serving.say({.kind = Kind::released});
  run(milliseconds(0));
  EXPECT_EQ(listener.end, kHeard);
}

TEST_F(EmbeddedMemberTest, AfterALeaseItGoesUnheard) {
  member.leave();
  for (int i = 0; i < 28 && listener.end.empty(); ++i) {
    serving.go();
    run(milliseconds(100));
  }
  EXPECT_EQ(listener.end, kUnheard);
}

TEST_F(EmbeddedMemberTest, WhoWasHeldUpHasNotListened) {
  member.leave();
  run(milliseconds(1500));  // All at once: the answer is there, but was not read yet.
  EXPECT_EQ(listener.end, "");
  serving.say({.kind = Kind::released});
  run(milliseconds(0));
  EXPECT_EQ(listener.end, kHeard);
}

}  // namespace
}  // namespace muster::registries::embedded
