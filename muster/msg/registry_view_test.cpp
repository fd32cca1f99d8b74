#include "muster/msg/registry_view.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster::msg {
namespace {

Member member(const std::string& name, std::uint64_t incarnation = 1) {
  return {.name = name,
          .type = "worker",
          .id = {7, incarnation},
          .incarnation = incarnation,
          .addresses = {"shm://" + name}};
}

TEST(RegistryView, TellsEachThingOnce) {
  RegistryView view;
  EXPECT_TRUE(view.see(member("a")));
  EXPECT_FALSE(view.see(member("a")));
  EXPECT_TRUE(view.see(member("a", 2)));
  Member moved = member("a", 2);
  moved.addresses = {"tcp://127.0.0.1:7000"};
  EXPECT_TRUE(view.see(moved));
}

TEST(RegistryView, AnOldIncarnationIsNoNewsAndTakesNobodyAway) {
  RegistryView view;
  view.see(member("a", 3));
  EXPECT_FALSE(view.see(member("a", 2)));
  EXPECT_EQ(view.remove("a", 2), std::nullopt);
  EXPECT_EQ(view.remove("a", 3), member("a", 3));
  EXPECT_EQ(view.remove("a", 3), std::nullopt);
}

TEST(RegistryView, WhoeverIsNotNamedInARollCallIsMissing) {
  RegistryView view;
  view.see(member("a"));
  view.see(member("b"));
  view.begin_roll_call();
  EXPECT_FALSE(view.see(member("b")));
  EXPECT_EQ(view.missing(), std::vector{member("a")});
  EXPECT_FALSE(view.see(member("a")));
  EXPECT_TRUE(view.missing().empty());
}

TEST(RegistryName, IsShortPlainAndNoHiddenFile) {
  EXPECT_TRUE(is_name("worker_01"));
  EXPECT_TRUE(is_name("a.b-c"));
  EXPECT_TRUE(is_name(std::string(kMaxName, 'x')));
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("a b"), std::string("a:b"),
        std::string("a/b"), std::string("*"), std::string("a\n"), std::string("\xC3\xA4"),
        std::string("a\0b", 3), std::string(kMaxName + 1, 'x')}) {
    EXPECT_FALSE(is_name(bad)) << bad;
  }
}

// Whatever comes in whatever order: incarnations told of a name never go back,
// but for a member that was gone in between.
RC_GTEST_PROP(RegistryViewProperty, IncarnationsNeverGoBackWhileAMemberStays, ()) {
  RegistryView view;
  std::map<std::string, std::uint64_t> told;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 60))) {
    const std::string name(1, static_cast<char>('a' + step % 3));
    const std::uint64_t incarnation = static_cast<std::uint64_t>(step) / 3 % 5 + 1;
    if (step < 45) {
      if (view.see(member(name, incarnation))) {
        RC_ASSERT(incarnation > told[name]);
        told[name] = incarnation;
      }
    } else if (view.remove(name, incarnation)) {
      RC_ASSERT(told[name] != 0 && told[name] <= incarnation);
      told[name] = 0;
    }
    RC_ASSERT((view.find(name) != nullptr) == (told[name] != 0));
  }
}

}  // namespace
}  // namespace muster::msg
