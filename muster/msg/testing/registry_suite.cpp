#include "muster/msg/testing/registry_suite.h"

#include <algorithm>

#include "muster/base/check.h"

namespace muster::msg::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Long enough for any case on a busy machine with sanitizers.
constexpr seconds kPatience(40);
constexpr milliseconds kSettle(50);
// Short enough to wait for, long enough not to run out by chance.
constexpr milliseconds kLease(1500);

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RegistrySuite);

RegistrySuite::RegistrySuite() : world(GetParam().make_world()) {
  auto made = loop::Loop::make();
  MUSTER_CHECK(made.has_value(), "a test has descriptors left for a loop");
  loop = *std::move(made);
}

RegistrySuite::~RegistrySuite() { components_.clear(); }

std::unique_ptr<Registry> RegistrySuite::make_registry() {
  const loop::Turn turn(*loop);
  return GetParam().make_registry(*loop, world->whereabouts());
}

Component& RegistrySuite::join(const std::string& name, Duration lease, const std::string& group) {
  return components_.emplace_back(*loop, make_registry(), request_for(group, name, lease));
}

Component& RegistrySuite::join_and_wait(const std::string& name, Duration lease) {
  Component& component = join(name, lease);
  EXPECT_TRUE(run_until([&] { return component.admissions() > 0; })) << name << " was not admitted";
  return component;
}

bool RegistrySuite::run_until(const std::function<bool()>& done) {
  return loop->wait_until(done, loop->now() + kPatience);
}

// Only to show that something does not happen.
void RegistrySuite::settle() {
  loop->wait_until([] { return false; }, loop->now() + kSettle);
}

TEST_P(RegistrySuite, TheFirstIsAdmittedAsTheFirst) {
  Component& a = join_and_wait("a");
  EXPECT_EQ(a.record(), std::vector<std::string>{"admitted a/1"});
}

TEST_P(RegistrySuite, EverybodyHearsOfEverybody) {
  Component& a = join("a");
  Component& b = join("b");
  Component& c = join("c");
  for (Component* one : {&a, &b, &c}) {
    EXPECT_TRUE(run_until([&] { return one->peers() == 2 && one->admissions() == 1; }));
  }
  const Member seen = a.member_of("b");
  EXPECT_EQ(seen.type, "worker");
  EXPECT_EQ(seen.incarnation, 1U);
  EXPECT_EQ(seen.id, c.member_of("b").id);
  EXPECT_EQ(seen.addresses, (std::vector<std::string>{"shm://b", "tcp://127.0.0.1:7000"}));
}

TEST_P(RegistrySuite, WhoeverIsThereIsToldBeforeOneIsAdmitted) {
  join_and_wait("a");
  join_and_wait("b");
  Component& c = join_and_wait("c");
  EXPECT_EQ(c.record().back(), "admitted c/1");
  EXPECT_EQ(c.peers(), 2U);
}

TEST_P(RegistrySuite, OneWhoLeavesIsSaidToHaveLeftAndHearsItsEnd) {
  Component& a = join_and_wait("a");
  Component& b = join_and_wait("b");
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1; }));

  b.leave();

  EXPECT_TRUE(run_until([&] { return b.is_ended() && a.has("left b/1"); }));
  EXPECT_EQ(b.record().back(), "ended cancelled");
  EXPECT_FALSE(a.has("lost"));
}

TEST_P(RegistrySuite, OneWhoServedOrCameFirstCanLeaveToo) {
  Component& a = join_and_wait("a");
  Component& b = join_and_wait("b");
  Component& c = join_and_wait("c");
  ASSERT_TRUE(run_until([&] { return b.peers() == 2 && c.peers() == 2; }));

  a.leave();

  EXPECT_TRUE(run_until([&] { return b.has("left a/1") && c.has("left a/1") && a.is_ended(); }));
  Component& d = join_and_wait("d");
  EXPECT_EQ(d.peers(), 2U);
  EXPECT_TRUE(run_until([&] { return b.knows("d") == 1 && c.knows("d") == 1; }));
  EXPECT_FALSE(b.has("lost"));
}

TEST_P(RegistrySuite, LeavingBeforeOneIsInEndsToo) {
  Component& a = join("a");
  a.leave();
  EXPECT_TRUE(run_until([&] { return a.is_ended(); }));
  EXPECT_EQ(a.record().back(), "ended cancelled");
}

TEST_P(RegistrySuite, OneWhoGoesWithoutAGoodbyeIsLost) {
  Component& a = join_and_wait("a", kLease);
  Component& b = join_and_wait("b", kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1; }));
  const std::vector<std::string> before = b.record();

  b.vanish();

  EXPECT_TRUE(run_until([&] { return a.has("lost b/1"); }));
  EXPECT_EQ(b.record(), before) << "a sink heard after its membership's end";
  EXPECT_FALSE(a.has("left"));
}

TEST_P(RegistrySuite, OneWhoComesBackHasAHigherIncarnation) {
  Component& a = join_and_wait("a", kLease);
  Component& first = join_and_wait("b", kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1; }));
  first.leave();
  ASSERT_TRUE(run_until([&] { return first.is_ended() && a.has("left b/1"); }));

  Component& second = join_and_wait("b", kLease);
  EXPECT_EQ(second.incarnation(), 2U);
  EXPECT_TRUE(run_until([&] { return a.knows("b") == 2; }));

  second.vanish();
  ASSERT_TRUE(run_until([&] { return a.has("lost b/2"); }));
  EXPECT_EQ(join_and_wait("b", kLease).incarnation(), 3U);
  EXPECT_TRUE(run_until([&] { return a.knows("b") == 3; }));
}

TEST_P(RegistrySuite, AYoungerIncarnationFencesTheOlder) {
  Component& a = join_and_wait("a");
  Component& older = join_and_wait("b");
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1; }));

  Component& younger = join_and_wait("b");

  EXPECT_EQ(younger.incarnation(), 2U);
  EXPECT_TRUE(run_until([&] { return older.is_ended(); }));
  EXPECT_EQ(older.record().back(), "ended invalid");
  EXPECT_TRUE(run_until([&] { return a.knows("b") == 2; }));
  EXPECT_FALSE(younger.is_ended());
  EXPECT_FALSE(a.has("lost"));
  EXPECT_EQ(younger.peers(), 1U);
}

TEST_P(RegistrySuite, WhoeverBearsANameThatHadCountedHigherCountsOnFromThere) {
  Component& a = join_and_wait("a", kLease);
  Component& b = join_and_wait("b", kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1 && b.knows("a") == 1; }));
  const Member other{
      .name = "b", .type = "worker", .id = Id::random(), .incarnation = 4, .addresses = {}};

  a.remind(other);
  EXPECT_TRUE(run_until([&] { return b.has("admitted b/5") && a.knows("b") == 5; }));

  a.remind(other);  // It knows better.
  b.leave();
  ASSERT_TRUE(run_until([&] { return b.is_ended() && a.has("left b/5"); }));
  EXPECT_EQ(join_and_wait("b", kLease).incarnation(), 6U);
  EXPECT_FALSE(b.has("admitted b/6"));
}

TEST_P(RegistrySuite, GroupsDoNotHearOfEachOther) {
  Component& a = join("a", kLease, "one");
  Component& b = join("a", kLease, "two");
  Component& c = join("c", kLease, "two");
  EXPECT_TRUE(run_until([&] { return a.admissions() == 1 && b.peers() == 1 && c.peers() == 1; }));
  settle();
  EXPECT_EQ(a.record(), std::vector<std::string>{"admitted a/1"});
  EXPECT_EQ(b.incarnation(), 1U);
}

TEST_P(RegistrySuite, ManyComeAndGo) {
  constexpr std::size_t kMany = 40;
  std::vector<Component*> all;
  for (std::size_t i = 0; i < kMany; ++i) all.push_back(&join("member_" + std::to_string(i)));
  EXPECT_TRUE(run_until([&] {
    return std::ranges::all_of(all, [](const auto* one) { return one->peers() == kMany - 1; });
  }));

  for (std::size_t i = 0; i < kMany; i += 2) all[i]->leave();

  EXPECT_TRUE(run_until([&] {
    for (std::size_t i = 1; i < kMany; i += 2) {
      if (all[i]->peers() != kMany / 2 - 1) return false;
    }
    return true;
  }));
  for (std::size_t i = 1; i < kMany; i += 2) {
    EXPECT_FALSE(all[i]->has("lost")) << ::testing::PrintToString(all[i]->record());
  }
}

TEST_P(RegistrySuite, NewsAreHeardSoonAfterTheyAreKnown) {
  Component& a = join_and_wait("a");
  join_and_wait("b");
  Duration best_join = kPatience;
  Duration best_leave = kPatience;
  for (int round = 1; round <= 5; ++round) {
    const std::string title = "c/" + std::to_string(round);
    Component& c = join_and_wait("c");
    ASSERT_TRUE(run_until([&] { return a.has("joined " + title); }));
    best_join = std::min(best_join, a.time_of("joined " + title) - c.time_of("admitted " + title));
    c.leave();
    ASSERT_TRUE(run_until([&] { return a.has("left " + title) && c.is_ended(); }));
    best_leave = std::min(best_leave, a.time_of("left " + title) - c.time_of("ended cancelled"));
  }
  EXPECT_LT(best_join, milliseconds(100));
  EXPECT_LT(best_leave, milliseconds(100));
}

// Known to whoever finds out first; where the end of a connection tells, that is at once.
TEST_P(RegistrySuite, ALossIsHeardOfSoonAfterItIsKnown) {
  Component& a = join_and_wait("a", kLease);
  Component& b = join_and_wait("b", kLease);
  Duration best = kPatience;
  for (int round = 1; round <= 3; ++round) {
    const std::string loss = "lost c/" + std::to_string(round);
    Component& c = join_and_wait("c", kLease);
    ASSERT_TRUE(run_until([&] { return a.knows("c") > 0 && b.knows("c") > 0; }));
    const TimePoint gone = loop->now();
    c.vanish();
    ASSERT_TRUE(run_until([&] { return a.has(loss) && b.has(loss); }));
    const std::pair<TimePoint, TimePoint> heard = std::minmax({a.time_of(loss), b.time_of(loss)});
    best = std::min<Duration>(best, heard.second - (GetParam().knows_at_once ? gone : heard.first));
  }
  EXPECT_LT(best, milliseconds(100));
}

TEST_P(RegistrySuite, AnOutageDisturbsNobodyAndEndsByItself) {
  Component& a = join_and_wait("a");
  Component& b = join_and_wait("b");
  ASSERT_TRUE(run_until([&] { return a.peers() == 1 && b.peers() == 1; }));

  world->break_down();
  ASSERT_TRUE(run_until([&] { return a.has("unreachable") && b.has("unreachable"); }));
  Component& late = join("late");
  EXPECT_TRUE(run_until([&] { return late.has("unreachable"); }));
  EXPECT_EQ(a.knows("b"), 1U);
  EXPECT_EQ(late.admissions(), 0);
  world->repair();

  EXPECT_TRUE(run_until([&] {
    return a.admissions() == 2 && b.admissions() == 2 && late.peers() == 2 && a.knows("late") == 1;
  }));
  EXPECT_EQ(a.incarnation(), 1U);
  EXPECT_EQ(b.incarnation(), 1U);
  EXPECT_EQ(a.count("joined b/1"), 1U);
  EXPECT_FALSE(a.has("lost") || b.has("lost") || a.has("left") || b.has("left"));
}

TEST_P(RegistrySuite, WhoIsLostInAnOutageIsMissedAfterIt) {
  Component& a = join_and_wait("a", kLease);
  Component& b = join_and_wait("b", kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1; }));

  world->break_down();
  ASSERT_TRUE(run_until([&] { return a.has("unreachable") && b.has("unreachable"); }));
  b.vanish();
  settle();
  EXPECT_EQ(a.knows("b"), 1U) << "what was said last stands";
  world->repair();

  EXPECT_TRUE(run_until([&] { return a.has("lost b/1") && a.admissions() == 2; }));
  EXPECT_EQ(join_and_wait("b", kLease).incarnation(), 2U);
}

TEST_P(RegistrySuite, NamesThatCannotBeAreRefusedAtOnce) {
  const std::unique_ptr<Registry> registry = make_registry();
  class Deaf final : public RegistrySink {
    void on_admitted(const Member&) override { FAIL(); }
    void on_joined(const Member&) override { FAIL(); }
    void on_left(const Member&) override { FAIL(); }
    void on_lost(const Member&, const Error&) override { FAIL(); }
    void on_unreachable(const Error&) override { FAIL(); }
    void on_ended(Error) override { FAIL(); }
  } sink;
  const loop::Turn turn(*loop);
  const auto refuses = [&](const std::function<void(JoinRequest&)>& spoil) {
    JoinRequest request = request_for("suite", "a");
    spoil(request);
    const auto membership = registry->join(request, sink);
    return !membership && membership.error().code() == Code::invalid;
  };
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.group = ""; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.group = ".."; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.group = "a/b"; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.self.name = "a:b"; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.self.name = std::string(65, 'a'); }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.self.type = "*"; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.self.id = {}; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.self.addresses = {"a b"}; }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.self.addresses.assign(17, "shm://a"); }));
  EXPECT_TRUE(refuses([](JoinRequest& it) { it.lease = Duration::zero(); }));
}

}  // namespace muster::msg::testing
