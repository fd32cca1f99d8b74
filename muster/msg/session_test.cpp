#include "muster/msg/session.h"

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

using Answer = Session::Answer;
using State = Session::State;
constexpr auto kTask = SessionType::task;
constexpr auto kNotification = SessionType::notification;

TEST(Session, OfATaskGoesFromRequestOverReceiveToComplete) {
  Session session(kTask);
  EXPECT_TRUE(session.is_open());
  EXPECT_EQ(session.take(kTask, Stage::receive), Answer::advanced);
  EXPECT_EQ(session.state(), State::received);
  EXPECT_FALSE(session.is_finished()) << "an acknowledgement is not a completion";
  EXPECT_EQ(session.take(kTask, Stage::complete), Answer::finished);
  EXPECT_TRUE(session.is_finished());
}

TEST(Session, OfATaskNeedsNoAcknowledgement) {
  Session session(kTask);
  EXPECT_EQ(session.take(kTask, Stage::complete), Answer::finished);
}

TEST(Session, OfANotificationIsFinishedByItsReceipt) {
  Session session(kNotification);
  EXPECT_EQ(session.take(kNotification, Stage::receive), Answer::finished);
  EXPECT_TRUE(session.is_finished());
  EXPECT_EQ(session.take(kNotification, Stage::receive), Answer::repeated);
}

TEST(Session, OfANotificationCannotBeCompleted) {
  Session session(kNotification);
  EXPECT_EQ(session.take(kNotification, Stage::complete), Answer::wrong);
  EXPECT_EQ(session.take(kTask, Stage::complete), Answer::wrong);
  EXPECT_TRUE(session.is_open());
}

TEST(Session, RefusesASecondCompletionAndASecondAcknowledgement) {
  Session session(kTask);
  session.take(kTask, Stage::receive);
  EXPECT_EQ(session.take(kTask, Stage::receive), Answer::repeated);
  session.take(kTask, Stage::complete);
  EXPECT_EQ(session.take(kTask, Stage::complete), Answer::repeated);
  EXPECT_EQ(session.state(), State::completed);
}

TEST(Session, TakesAnAcknowledgementAfterTheCompletionForLate) {
  Session session(kTask);
  session.take(kTask, Stage::complete);
  EXPECT_EQ(session.take(kTask, Stage::receive), Answer::late);
}

TEST(Session, TakesWhateverComesAfterItsEndForLate) {
  for (const Stage stage : {Stage::receive, Stage::complete}) {
    Session session(kTask);
    session.end();
    EXPECT_FALSE(session.is_open());
    EXPECT_EQ(session.take(kTask, stage), Answer::late);
    EXPECT_EQ(session.state(), State::ended);
  }
}

TEST(Session, IsNotEndedOnceFinished) {
  Session session(kTask);
  session.take(kTask, Stage::complete);
  session.end();
  EXPECT_EQ(session.state(), State::completed);
}

TEST(Session, IsNoPlaceForARequestOrAnotherType) {
  Session session(kTask);
  EXPECT_EQ(session.take(kTask, Stage::request), Answer::wrong);
  EXPECT_EQ(session.take(kNotification, Stage::receive), Answer::wrong);
  EXPECT_EQ(session.state(), State::requested);
}

}  // namespace
}  // namespace muster::msg
