#include "muster/net/keep_alive.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = KeepAlive::Verdict;

// A keep-alive that is asked every 100 ms, as an endpoint does.
struct Watched {
  TimePoint now{seconds(100)};
  KeepAlive alive;
  int beats = 0;

  Watched() { alive.start(seconds(1), milliseconds(2800), now); }

  // True unless the peer was lost on the way.
  bool run(Duration duration, bool is_peer_talking = false) {
    for (const TimePoint end = now + duration; now < end;) {
      now += milliseconds(100);
      if (is_peer_talking) alive.heard();
      const Verdict verdict = alive.check(now);
      if (verdict == Verdict::lost) return false;
      if (verdict == Verdict::beat) {
        ++beats;
        alive.sent();
      }
    }
    return true;
  }
};

TEST(KeepAlive, BeatsAboutOnceASecondWhenNothingElseIsSent) {
  Watched link;
  EXPECT_TRUE(link.run(seconds(11), true));
  EXPECT_GE(link.beats, 9);
  EXPECT_LE(link.beats, 11);
}

TEST(KeepAlive, DoesNotBeatWhileOtherThingsAreSent) {
  Watched link;
  for (int i = 0; i < 20; ++i) {
    link.alive.sent();
    EXPECT_TRUE(link.run(milliseconds(500), true));
  }
  EXPECT_EQ(link.beats, 0);
}

TEST(KeepAlive, LosesThePeerAfterTheSilenceAndNotBefore) {
  Watched link;
  EXPECT_TRUE(link.run(milliseconds(2700)));
  EXPECT_FALSE(link.run(milliseconds(200)));
}

TEST(KeepAlive, HearingAnythingStartsTheSilenceAnew) {
  Watched link;
  EXPECT_TRUE(link.run(milliseconds(2700)));
  link.alive.heard();
  EXPECT_TRUE(link.run(milliseconds(2700)));
  EXPECT_FALSE(link.run(milliseconds(300)));
}

TEST(KeepAlive, AProcessThatWasStoppedReadsWhatWaitsBeforeItJudges) {
  Watched link;
  link.now += seconds(30);

  EXPECT_NE(link.alive.check(link.now), Verdict::lost);
  link.alive.heard();  // What had waited.
  EXPECT_TRUE(link.run(milliseconds(2700)));
}

TEST(KeepAlive, AfterAStopAPeerThatIsReallyGoneIsLostOneBeatLater) {
  Watched link;
  link.now += seconds(30);

  EXPECT_NE(link.alive.check(link.now), Verdict::lost);
  EXPECT_TRUE(link.run(milliseconds(900)));
  EXPECT_FALSE(link.run(milliseconds(200)));
}

}  // namespace
}  // namespace muster::net
