#include <gtest/gtest.h>

#include "muster/loop/testing/waiting_model.h"

namespace muster::loop::testing {
namespace {

void expect_safe(const WaitingScenario& scenario) {
  const WaitingOutcome outcome = check_waiting(scenario);
  EXPECT_TRUE(outcome.is_ok) << outcome.transcript;
  ::testing::Test::RecordProperty("states", std::to_string(outcome.states));
}

TEST(Waiting, NobodySleepsOnWhoseConditionHolds) { expect_safe({}); }

TEST(Waiting, NoDeadlineStrandsTheOthers) { expect_safe({.has_deadlines = true}); }

TEST(Waiting, ATimerIsMetWheneverItIsSet) {
  expect_safe({.users = 1, .has_deadlines = true, .has_timer = true});
  expect_safe({.has_deadlines = true, .has_timer = true});
}

TEST(Waiting, ADescriptorsEventIsHandledWhoeverTakesIt) { expect_safe({.has_descriptor = true}); }

TEST(Waiting, AMessageIsSeenWhenNobodyWaitsForIt) {
  expect_safe({.has_deadlines = true, .has_second_message = true});
}

TEST(Waiting, AThreadThatOnlyLooksTakesNoWakeUpAway) {
  expect_safe({.has_second_message = true, .has_looker = true});
}

struct Mistaken {
  const char* name;
  WaitingMistake mistake;
  WaitingScenario scenario;
};

class WaitingMistakes : public ::testing::TestWithParam<Mistaken> {};

TEST_P(WaitingMistakes, AreCaught) {
  const WaitingOutcome outcome = check_waiting(GetParam().scenario, GetParam().mistake);
  EXPECT_FALSE(outcome.is_ok);
  EXPECT_FALSE(outcome.transcript.empty());
}

using enum WaitingMistake;
constexpr WaitingScenario kPlain{};
constexpr WaitingScenario kLate{.has_deadlines = true};
constexpr WaitingScenario kTimed{.users = 1, .has_deadlines = true, .has_timer = true};
constexpr WaitingScenario kLooked{.has_second_message = true, .has_looker = true};

INSTANTIATE_TEST_SUITE_P(
    All, WaitingMistakes,
    ::testing::Values(Mistaken{"KeeperSleepsInTheSet", keeper_sleeps_in_the_set, kTimed},
                      Mistaken{"SpentRingCountsAsArmed", spent_ring_counts_as_armed, kLooked},
                      Mistaken{"NobodyIsPassedTheLead", nobody_is_passed_the_lead, kPlain},
                      Mistaken{"KeeperStaysInDeepSleep", keeper_stays_in_deep_sleep, kLate},
                      Mistaken{"KeeperIsNotCalledOut", keeper_is_not_called_out, kTimed},
                      Mistaken{"SleepersAreNotSettled", sleepers_are_not_settled, kPlain},
                      Mistaken{"TimersDoNotWakeSleepers", timers_do_not_wake_sleepers, kTimed},
                      Mistaken{"VisitorsDoNotRearm", visitors_do_not_rearm, kPlain}),
    [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace muster::loop::testing
