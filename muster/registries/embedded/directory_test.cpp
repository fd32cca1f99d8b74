#include "muster/registries/embedded/directory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "muster/registries/embedded/state.h"

namespace muster::registries::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLease(2800);

Message announcement(const std::string& name, std::uint64_t id, std::uint64_t incarnation = 0) {
  Message message{.kind = Kind::announce};
  message.lease = kLease;
  message.group = "g";
  message.member = {.name = name,
                    .type = "t",
                    .id = {1, id},
                    .incarnation = incarnation,
                    .addresses = {"shm://" + name}};
  return message;
}

// "2: joined a/1", with "!" for the last to that seat.
std::vector<std::string> lines(const Notices& notices) {
  static const std::vector<std::string> kinds = {
      "", "announce", "beat", "leave", "admitted", "joined", "left", "lost", "refused", "released"};
  std::vector<std::string> out;
  for (const Notice& notice : notices) {
    std::string line =
        std::to_string(notice.seat) + ": " + kinds[static_cast<std::size_t>(notice.message.kind)];
    if (!notice.message.member.name.empty()) {
      line += " " + notice.message.member.name + "/" +
              std::to_string(notice.message.member.incarnation);
    }
    out.push_back(line + (notice.is_last ? "!" : ""));
  }
  return out;
}

using Lines = std::vector<std::string>;

struct DirectoryTest : ::testing::Test {
  Lines announce(Seat seat, const std::string& name, std::uint64_t id,
                 std::uint64_t incarnation = 0) {
    return lines(directory.announce(seat, announcement(name, id, incarnation), 100, now));
  }
  // The next serving process, which knows what was saved.
  void hand_over() { directory = Directory(now, *decode_state(encode_state(directory.state()))); }

  TimePoint now{seconds(1000)};
  Directory directory{now};
};

TEST_F(DirectoryTest, ANewcomerHearsOfAllAndAllOfIt) {
  EXPECT_EQ(announce(1, "a", 1), (Lines{"1: admitted a/1"}));
  EXPECT_EQ(announce(2, "b", 2), (Lines{"2: joined a/1", "2: admitted b/1", "1: joined b/1"}));
  EXPECT_EQ(announce(3, "c", 3), (Lines{"3: joined a/1", "3: joined b/1", "3: admitted c/1",
                                        "1: joined c/1", "2: joined c/1"}));
}

TEST_F(DirectoryTest, LeavingAndLosingAreToldApart) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  announce(3, "c", 3);
  EXPECT_EQ(lines(directory.leave(2)), (Lines{"2: released!", "1: left b/1", "3: left b/1"}));
  EXPECT_EQ(lines(directory.lose(3, Error(Code::unavailable, "died"))), (Lines{"1: lost c/1"}));
  EXPECT_EQ(lines(directory.lose(3, Error(Code::unavailable, "died"))), Lines{});
  EXPECT_EQ(lines(directory.leave(2)), (Lines{"2: released!"}));
}

TEST_F(DirectoryTest, WhoComesBackCountsUpAndFencesWhoIsStillThere) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  EXPECT_EQ(announce(3, "b", 3),
            (Lines{"2: refused!", "3: joined a/1", "3: admitted b/2", "1: joined b/2"}));
  // The one that was fenced comes again, late.
  EXPECT_EQ(announce(4, "b", 2, 1), (Lines{"4: refused!"}));
  directory.leave(3);
  EXPECT_EQ(announce(5, "b", 2, 1), (Lines{"5: refused!"}));
  EXPECT_EQ(announce(6, "b", 6), (Lines{"6: joined a/1", "6: admitted b/3", "1: joined b/3"}));
}

TEST_F(DirectoryTest, WhoIsRemindedOfAHigherCountGivesTheNext) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  announce(3, "c", 3);
  const auto remind = [&](Seat seat, std::uint64_t id, std::uint64_t incarnation) {
    return lines(directory.remind(seat, announcement("b", id, incarnation).member, now));
  };
  EXPECT_EQ(remind(1, 9, 1), (Lines{"2: admitted b/2", "1: joined b/2", "3: joined b/2"}));
  EXPECT_EQ(remind(1, 9, 1), Lines{}) << "it counts higher already";
  EXPECT_EQ(remind(1, 2, 7), Lines{}) << "of itself";
  EXPECT_EQ(remind(4, 9, 7), Lines{}) << "by nobody";
  EXPECT_EQ(remind(1, 9, msg::kMaxIncarnation), Lines{});
  // Who has not heard of it yet, and comes to the next who serves, is the same.
  hand_over();
  EXPECT_EQ(announce(5, "b", 2, 1), (Lines{"5: joined a/1", "5: joined c/1", "5: admitted b/2"}));
  // Of one who is away, for its return.
  directory.leave(5);
  announce(1, "a", 1, 1);
  EXPECT_EQ(remind(1, 9, 4), Lines{});
  EXPECT_EQ(announce(6, "b", 6).at(2), "6: admitted b/6");
}

TEST_F(DirectoryTest, WhoeverServesNextTellsWhoHasLeftFromWhoIsLost) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  announce(3, "c", 3);
  directory.leave(2);
  directory.lose(3, Error(Code::unavailable, "died"));
  hand_over();
  announce(4, "a", 1, 1);
  const auto miss = [&](const char* name, std::uint64_t id) {
    return lines(directory.miss(4, announcement(name, id, 1).member));
  };
  EXPECT_EQ(miss("b", 2), (Lines{"4: left b/1"}));
  EXPECT_EQ(miss("c", 3), (Lines{"4: lost c/1"}));
  EXPECT_EQ(miss("d", 4), (Lines{"4: lost d/1"})) << "whom nobody knows";
  EXPECT_EQ(lines(directory.miss(9, announcement("b", 2, 1).member)), Lines{}) << "by nobody";
  announce(5, "b", 5);
  EXPECT_EQ(miss("b", 2), (Lines{"4: joined b/2"}));
  directory.lose(5, Error(Code::unavailable, "died"));
  EXPECT_EQ(miss("b", 2), (Lines{"4: lost b/1"})) << "it has left before, and come back";
}

TEST_F(DirectoryTest, OnlyThoseWhoseLeaseHasRunOutAreOverdue) {
  announce(1, "a", 1);
  now += kLease / 2;
  announce(2, "b", 2);
  EXPECT_EQ(directory.overdue(now), std::vector<Seat>{});
  EXPECT_EQ(directory.overdue(now + kLease / 2), std::vector<Seat>{1});
  directory.beat(1, now + kLease / 2);
  EXPECT_EQ(directory.overdue(now + kLease / 2), std::vector<Seat>{});
}

TEST_F(DirectoryTest, ASilentMemberIsLostAfterItsLeaseAndABeatBringsItBack) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  now += kLease / 2;
  EXPECT_EQ(lines(directory.beat(1, now)), (Lines{"1: beat"}));
  now += kLease / 2;
  EXPECT_EQ(directory.next_expiry(), now);
  EXPECT_EQ(lines(directory.expire(now, now)), (Lines{"1: lost b/1"}));
  EXPECT_EQ(lines(directory.expire(now, now)), Lines{});
  EXPECT_EQ(lines(directory.beat(2, now)), (Lines{"2: beat", "1: joined b/1"}));
  EXPECT_EQ(lines(directory.beat(2, now)), (Lines{"2: beat"}));
}

TEST_F(DirectoryTest, OneThatServesAndWasStoppedItselfBlamesNobody) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  const TimePoint due = directory.next_expiry();
  now = due + seconds(60);
  EXPECT_EQ(lines(directory.expire(due, now)), Lines{});
  const TimePoint again = directory.next_expiry();
  EXPECT_EQ(lines(directory.expire(again, again)), (Lines{"2: lost a/1", "1: lost b/1"}));
}

TEST_F(DirectoryTest, TheNextToServeKnowsWhoWasThere) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  announce(3, "c", 3);
  directory.leave(3);
  hand_over();

  // Nobody who was told already is told again.
  EXPECT_EQ(announce(11, "a", 1, 1), (Lines{"11: joined b/1", "11: admitted a/1"}));
  EXPECT_EQ(announce(12, "c", 9),
            (Lines{"12: joined a/1", "12: joined b/1", "12: admitted c/2", "11: joined c/2"}));
  EXPECT_EQ(announce(13, "b", 8, 0), (Lines{"13: joined a/1", "13: joined c/2", "13: admitted b/2",
                                            "11: joined b/2", "12: joined b/2"}));
}

TEST_F(DirectoryTest, WhoDoesNotAnnounceItselfToTheNextIsLostWithItsLease) {
  announce(1, "a", 1);
  announce(2, "b", 2);
  hand_over();
  announce(11, "a", 1, 1);
  now = directory.next_expiry();
  directory.beat(11, now);
  EXPECT_EQ(lines(directory.expire(now, now)), (Lines{"11: lost b/1"}));
}

TEST_F(DirectoryTest, WhoseProcessDiesBeforeItCouldAnnounceItselfIsLostAtOnce) {
  announce(1, "a", 1);
  directory.announce(2, announcement("b", 2), 200, now);
  directory.announce(3, announcement("c", 3), 200, now);
  hand_over();
  announce(11, "a", 1, 1);
  directory.announce(12, announcement("c", 3, 1), 200, now);
  const Error why(Code::unavailable, "died");
  EXPECT_EQ(lines(directory.bury(200, why)), (Lines{"11: lost b/1", "12: lost b/1"}));
  EXPECT_EQ(lines(directory.bury(200, why)), Lines{});
}

TEST_F(DirectoryTest, OneTakenInUnawaresIsTakenInOnce) {
  announce(1, "a", 1);
  hand_over();
  // The answer to the first announcement was never read.
  EXPECT_EQ(announce(2, "a", 1, 0), (Lines{"2: admitted a/1"}));
}

TEST_F(DirectoryTest, WithoutAFileWhatMembersCarryCounts) {
  EXPECT_EQ(announce(1, "a", 1, 7), (Lines{"1: admitted a/7"}));
  EXPECT_EQ(announce(2, "a", 2, 7), (Lines{"2: refused!"}));
  EXPECT_EQ(announce(3, "a", 3), (Lines{"1: refused!", "3: admitted a/8"}));
}

TEST_F(DirectoryTest, OnlyAFreshOneWithoutAFileHasNotHeardOfAll) {
  const auto is_complete = [&](Seat seat) {
    const Notices notices =
        directory.announce(seat, announcement("n" + std::to_string(seat), seat), 1, now);
    for (const Notice& notice : notices) {
      if (notice.message.kind == Kind::admitted) return notice.message.is_complete;
    }
    return false;
  };
  EXPECT_FALSE(is_complete(1));
  now += kLease;
  EXPECT_TRUE(is_complete(2));
  hand_over();
  EXPECT_TRUE(is_complete(3));
}

TEST_F(DirectoryTest, ARemoteMemberOutlivesItsConnection) {
  Message remote = announcement("far", 5);
  remote.is_remote = true;
  announce(1, "a", 1);
  directory.announce(2, remote, 0, now);
  EXPECT_TRUE(directory.is_remote(2));
  directory.unseat(2, now);
  EXPECT_FALSE(directory.has(2));
  remote.member.incarnation = 1;
  EXPECT_EQ(lines(directory.announce(3, remote, 0, now)),
            (Lines{"3: joined a/1", "3: admitted far/1"}));
}

TEST_F(DirectoryTest, LimitsHoldAndForgottenNamesStillCountUp) {
  directory = Directory(now, {.present = 2, .absent = 1});
  announce(1, "a", 1, 41);
  announce(2, "b", 2);
  EXPECT_EQ(announce(3, "c", 3), (Lines{"3: refused!"}));
  directory.leave(1);
  announce(4, "c", 4);
  directory.leave(4);  // Now "a" is forgotten, but for its 41.
  EXPECT_EQ(announce(5, "a", 1, 41), (Lines{"5: refused!"}));
  EXPECT_EQ(announce(6, "a", 6), (Lines{"6: joined b/1", "6: admitted a/42", "2: joined a/42"}));
}

// Of one name, no incarnation is ever given to two ids, none is told lower than
// before, and whoever announces a lower one is refused.
RC_GTEST_PROP(DirectoryProperty, IncarnationsNeverGoBackNorServeTwo, ()) {
  TimePoint now{seconds(1000)};
  Directory directory(now, {.present = 100, .absent = 2});
  std::map<std::string, std::pair<std::uint64_t, Id>> highest;
  std::uint64_t ids = 0;
  Seat seat = 0;
  const auto learn = [&](const Notices& notices) {
    for (const Notice& notice : notices) {
      if (notice.message.kind != Kind::admitted && notice.message.kind != Kind::joined) continue;
      const msg::Member& member = notice.message.member;
      auto& [incarnation, id] = highest[member.name];
      RC_ASSERT(member.incarnation >= incarnation);
      RC_ASSERT(member.incarnation > incarnation || member.id == id);
      incarnation = member.incarnation;
      id = member.id;
    }
  };
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  for (const int step : steps) {
    const std::string name(1, static_cast<char>('a' + step % 5));
    switch (step / 5 % 7) {
      case 0:
      case 1: learn(directory.announce(++seat, announcement(name, ++ids), 1, now)); break;
      case 2: {  // One that was there, or is, announces itself again.
        if (!highest.contains(name)) break;
        const auto [incarnation, id] = highest[name];
        learn(directory.announce(++seat, announcement(name, id.low, incarnation), 1, now));
        break;
      }
      case 3: learn(directory.leave(seat)); break;
      case 4: learn(directory.lose(seat, Error(Code::unavailable, "died"))); break;
      case 5: {
        now += seconds(1);
        const TimePoint due = std::min(directory.next_expiry(), now);
        learn(directory.expire(due, now));
        break;
      }
      default:
        directory = Directory(now, *decode_state(encode_state(directory.state())),
                              {.present = 100, .absent = 2});
    }
  }
}

}  // namespace
}  // namespace muster::registries::embedded
