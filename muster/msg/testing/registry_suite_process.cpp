// Processes: members that are killed, stopped, and come back.

#include <csignal>
#include <cstdlib>

#include <unistd.h>

#include "muster/base/check.h"
#include "muster/msg/testing/registry_suite.h"

namespace muster::msg::testing {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLease(1500);

std::map<std::string, RegistrySubject>& subjects() {
  static std::map<std::string, RegistrySubject> known;
  return known;
}

// Holds whatever its parent had open, until the test is over.
void fork_one_who_stays() {
  if (fork() != 0) return;
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  _exit(0);
}

}  // namespace

bool add_registry_subjects(std::vector<RegistrySubject> added) {
  for (RegistrySubject& subject : added) subjects()[subject.name] = std::move(subject);
  return true;
}

// A member: subject, whereabouts, name, lease in ms. Says "admitted N" and then
// does as it is told: "leave", "fork", or one line "peers N" once it has N peers
// for "await N".
MUSTER_ROLE(registry_member) {
  const RegistrySubject& subject = subjects().at(parent.arguments.at(0));
  const milliseconds lease(std::stoi(parent.arguments.at(3)));
  auto loop = loop::Loop::make();
  MUSTER_CHECK(loop.has_value(), "a child has descriptors for a loop");
  std::unique_ptr<Registry> registry;
  {
    const loop::Turn turn(**loop);
    registry = subject.make_registry(**loop, parent.arguments.at(1));
  }
  Component component(**loop, std::move(registry),
                      request_for("suite", parent.arguments.at(2), lease));
  (*loop)->wait_until([&] { return component.admissions() > 0; });
  parent.pipe.write_line("admitted " + std::to_string(component.incarnation()));
  for (;;) {
    const Result<std::string> line = parent.pipe.read_line(std::chrono::minutes(10));
    if (!line) return 1;
    if (*line == "fork") {
      fork_one_who_stays();
      parent.pipe.write_line("forked");
    } else if (line->starts_with("await ")) {
      const auto wanted = std::stoul(line->substr(6));
      (*loop)->wait_until([&] { return component.peers() == wanted; });
      parent.pipe.write_line("peers " + std::to_string(wanted));
    } else if (*line == "leave") {
      component.leave();
      (*loop)->wait_until([&] { return component.is_ended(); });
      return 0;
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RegistryProcessSuite);

std::unique_ptr<ChildProcess> RegistrySuite::start(const std::string& name, Duration lease) {
  const auto ms = std::chrono::duration_cast<milliseconds>(lease).count();
  auto child = ChildProcess::start(
      "registry_member", {GetParam().name, world->whereabouts(), name, std::to_string(ms)});
  EXPECT_TRUE(child) << child.error().describe();
  const Result<std::string> line = (*child)->pipe().read_line();
  EXPECT_TRUE(line && line->starts_with("admitted")) << name;
  return *std::move(child);
}

// On one host there are better means than to wait for the lease.
void RegistryProcessSuite::expect_known_soon_after(TimePoint killed) {
  if (!GetParam().knows_at_once) return;
  EXPECT_LT(loop->now() - killed, kLease / 2);
}

TEST_P(RegistryProcessSuite, ProcessesHearOfEachOther) {
  const auto child = start("child");
  Component& a = join_and_wait("a");
  EXPECT_EQ(a.knows("child"), 1U);

  child->pipe().write_line("leave");

  EXPECT_TRUE(run_until([&] { return a.has("left child/1"); }));
  EXPECT_EQ(*child->wait(), 0);
  EXPECT_FALSE(a.has("lost"));
}

TEST_P(RegistryProcessSuite, AKilledProcessIsLostAndComesBackHigher) {
  const auto child = start("child", kLease);
  Component& a = join_and_wait("a", kLease);
  const auto other = start("other", kLease);
  ASSERT_TRUE(run_until([&] { return a.peers() == 2; }));

  child->signal(SIGKILL);
  const TimePoint killed = loop->now();

  EXPECT_TRUE(run_until([&] { return a.has("lost child/1"); }));
  expect_known_soon_after(killed);
  other->pipe().write_line("await 1");
  EXPECT_EQ(*other->pipe().read_line(), "peers 1");
  const auto again = start("child", kLease);
  EXPECT_TRUE(run_until([&] { return a.knows("child") == 2; }));
  EXPECT_EQ(a.knows("other"), 1U);
  EXPECT_FALSE(a.has("lost other"));
}

// The oldest is the one that serves, where one of them does.
TEST_P(RegistryProcessSuite, EachCanBeKilledInTurnAndTheOthersAgree) {
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (int i = 0; i < 4; ++i) children.push_back(start("child_" + std::to_string(i), kLease));
  Component& a = join_and_wait("a", kLease);
  ASSERT_TRUE(run_until([&] { return a.peers() == 4; }));

  for (int i = 0; i < 4; ++i) {
    children[i]->signal(SIGKILL);
    const TimePoint killed = loop->now();
    const std::string title = "child_" + std::to_string(i) + "/1";
    EXPECT_TRUE(run_until([&] { return a.has("lost " + title); })) << title;
    expect_known_soon_after(killed);
    for (int j = i + 1; j < 4; ++j) {
      children[j]->pipe().write_line("await " + std::to_string(4 - i - 1));
      EXPECT_EQ(*children[j]->pipe().read_line(), "peers " + std::to_string(4 - i - 1));
    }
  }
  EXPECT_EQ(a.peers(), 0U);
  EXPECT_EQ(a.incarnation(), 1U);
}

TEST_P(RegistryProcessSuite, AChildOfADeadProcessDoesNotKeepItThere) {
  const auto first = start("first", kLease);
  const auto second = start("second", kLease);
  Component& a = join_and_wait("a", kLease);
  for (const auto& child : {first.get(), second.get()}) {
    child->pipe().write_line("fork");
    EXPECT_EQ(*child->pipe().read_line(), "forked");
  }
  ASSERT_TRUE(run_until([&] { return a.peers() == 2; }));

  const TimePoint killed = loop->now();
  second->signal(SIGKILL);
  EXPECT_TRUE(run_until([&] { return a.has("lost second/1"); }));
  first->signal(SIGKILL);
  EXPECT_TRUE(run_until([&] { return a.has("lost first/1"); }));
  expect_known_soon_after(killed);
  const auto again = start("first", kLease);
  EXPECT_TRUE(run_until([&] { return a.knows("first") == 2; }));
}

TEST_P(RegistryProcessSuite, AStoppedProcessIsLostAfterItsLeaseAndComesBackAsItself) {
  Component& a = join_and_wait("a", kLease);
  const auto child = start("child", kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("child") == 1; }));
  const TimePoint stopped = loop->now();

  child->stop();

  EXPECT_TRUE(run_until([&] { return a.has("lost child/1"); }));
  // Its last beat may have been up to a quarter of a lease before.
  EXPECT_GT(loop->now() - stopped, kLease / 2);
  child->signal(SIGCONT);
  EXPECT_TRUE(run_until([&] { return a.count("joined child/1") == 2; }));
  child->pipe().write_line("leave");
  EXPECT_TRUE(run_until([&] { return a.has("left child/1"); }));
  EXPECT_EQ(*child->wait(), 0);
}

TEST_P(RegistryProcessSuite, AStoppedProcessWhoseNameWasTakenIsFenced) {
  Component& a = join_and_wait("a", kLease);
  const auto child = start("b", kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1; }));
  child->stop();
  Component& younger = join_and_wait("b", kLease);
  EXPECT_EQ(younger.incarnation(), 2U);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 2; }));

  child->signal(SIGCONT);
  child->pipe().write_line("leave");  // Returns once it has ended, whyever.

  EXPECT_TRUE(child->wait());
  settle();
  EXPECT_EQ(a.knows("b"), 2U);
  EXPECT_FALSE(younger.is_ended());
}

}  // namespace muster::msg::testing
