// What an onlooker, who asks and does not join, is told.

#include <optional>

#include "muster/msg/testing/registry_suite.h"

namespace muster::msg::testing {
namespace {

using Roll = Result<std::vector<Member>>;

// Asks, and keeps what was answered.
class Onlooker {
 public:
  Onlooker(loop::Loop& loop, std::unique_ptr<Registry> registry)
      : loop_(loop), registry_(std::move(registry)) {}
  ~Onlooker() {
    const loop::Turn turn(loop_);
    inquiry_.reset();
    registry_.reset();
  }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  Status ask(const std::string& group) {
    const loop::Turn turn(loop_);
    MUSTER_TRY(inquiry_, registry_->ask(group, [this](Roll roll) {
      EXPECT_FALSE(answer) << "told twice";
      answer = std::move(roll);
      inquiry_.reset();
    }));
    EXPECT_FALSE(answer) << "told from inside the question";
    return ok();
  }
  std::optional<Roll> answer;

 private:
  loop::Loop& loop_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<Inquiry> inquiry_;
};

}  // namespace

TEST_P(RegistrySuite, AnOnlookerIsToldWhoIsThereAndNobodyHearsOfIt) {
  const Component& b = join_and_wait("b");
  const Component& a = join_and_wait("a");
  Component& gone = join_and_wait("c");
  ASSERT_TRUE(run_until([&] { return a.knows("c") != 0 && b.knows("c") != 0; }));
  gone.leave();
  ASSERT_TRUE(run_until([&] { return a.has("left c") && b.has("left c"); }));
  const auto before = a.record();
  Onlooker onlooker(*loop, make_registry());
  ASSERT_TRUE(onlooker.ask("suite"));
  ASSERT_TRUE(run_until([&] { return onlooker.answer.has_value(); }));
  ASSERT_TRUE(*onlooker.answer) << onlooker.answer->error().describe();
  const std::vector<Member>& members = **onlooker.answer;
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(members[1], a.member_of("b"));
  settle();
  EXPECT_EQ(a.record(), before);
}

TEST_P(RegistrySuite, AnOnlookerOfAGroupThatIsNotThereHearsOfNobody) {
  Onlooker onlooker(*loop, make_registry());
  ASSERT_TRUE(onlooker.ask("one"));
  ASSERT_TRUE(run_until([&] { return onlooker.answer.has_value(); }));
  ASSERT_TRUE(*onlooker.answer) << onlooker.answer->error().describe();
  EXPECT_TRUE((*onlooker.answer)->empty());
}

TEST_P(RegistrySuite, AnOnlookerOfAGroupThatCannotBeIsToldAtOnce) {
  Onlooker onlooker(*loop, make_registry());
  EXPECT_EQ(onlooker.ask("no such/group").error().code(), Code::invalid);
}

TEST_P(RegistrySuite, AnOnlookerMayLoseInterest) {
  join_and_wait("a");
  Onlooker onlooker(*loop, make_registry());
  ASSERT_TRUE(onlooker.ask("suite"));
}

TEST_P(RegistrySuite, AnOnlookerHearsThatTheRegistryIsAway) {
  join_and_wait("a");
  Onlooker onlooker(*loop, make_registry());
  world->break_down();
  ASSERT_TRUE(onlooker.ask("suite"));
  ASSERT_TRUE(run_until([&] { return onlooker.answer.has_value(); }));
  EXPECT_FALSE(*onlooker.answer);
}

}  // namespace muster::msg::testing
