// Components under virtual time: which handlers are called, and what becomes of
// the messages.

#include "muster/msg/component.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "muster/msg/testing/three.h"

namespace muster::msg {
namespace {

using std::chrono::seconds;
using testing::kNow;
using testing::outcome;
using wire::Value;
using Messages = std::vector<Message>;

struct Learner {
  explicit Learner(int version = 0) : model_version(version) {}
  Value train(Proxy&, const Messages& messages) {
    for (const Message& message : messages) seen.emplace_back(message.source());
    return ++model_version;
  }

  int model_version;
  std::vector<std::string> seen;
};

void note(Learner& learner, Proxy&, const Messages& messages) {
  std::string line;
  for (const Message& message : messages) {
    line += (line.empty() ? "" : " ") + std::to_string(*message.body().as_integer());
  }
  learner.seen.push_back(line);
}

Value refuse(Learner&, Proxy&, const Messages&) { throw std::runtime_error("no gradient"); }

struct Components : testing::Three {
  // Handles all that has come to the master.
  template <class T>
  Status launch(Component<T>& component) {
    group.net.run_for(seconds(1));
    Status ended = ok();
    do {
      ended = component.launch(kNow);
    } while (!ended && ended.error().code() == Code::timeout && master->counters().waiting > 0);
    return ended;
  }
  template <class T>
  void work(Component<T>& component) {
    EXPECT_EQ(launch(component).error().code(), Code::timeout);
  }
  SessionId tell(const std::string& who, const std::string& tag, int body = 0,
                 SessionType type = SessionType::notification) {
    return *group[who].isend(
        {.tag = tag, .destination = "master", .body = body, .session_type = type});
  }
  SessionId task(const std::string& who, const std::string& tag) {
    return tell(who, tag, 0, SessionType::task);
  }
};

TEST_F(Components, LeaveTheMembersOfTheClassReachable) {
  Component<Learner> learner(*master, {{"update", &Learner::train}}, 7);
  EXPECT_EQ(learner->model_version, 7);
  learner->model_version = 20;
  tell("worker_1", "update");
  work(learner);
  EXPECT_EQ((*learner).model_version, 21);
  EXPECT_EQ(learner->seen, std::vector<std::string>{"worker_1"});
  EXPECT_EQ(&learner.proxy(), master);
}

TEST_F(Components, CallAHandlerOnceItsConditionIsMetWithTheOldestFirst) {
  Component<Learner> learner(*master, {{"worker:update:2", note}});
  tell("worker_1", "update", 1);
  tell("worker_1", "other", 2);
  EXPECT_EQ(launch(learner).error().code(), Code::timeout);
  EXPECT_TRUE(learner->seen.empty());
  tell("worker_1", "update", 3);
  tell("worker_1", "update", 4);
  work(learner);
  EXPECT_EQ(learner->seen, std::vector<std::string>{"1 3"});
}

TEST_F(Components, GiveOneMessageToEveryHandlerInTheOrderOfTheirRegistration) {
  std::string calls;
  Component<Learner> learner(*master);
  learner.on("update", [&](Learner&, Proxy&, const Messages&) { calls += "a"; })
      .on(all_of("worker_1:update:1", "worker_2:update:1"),
          [&](Learner&, Proxy&, const Messages&) { calls += "b"; })
      .on("update", [&](Learner&, Proxy&, const Messages&) { calls += "c"; });
  tell("worker_1", "update");
  work(learner);
  EXPECT_EQ(calls, "ac");
  tell("worker_2", "update");
  work(learner);
  EXPECT_EQ(calls, "acabc");
}

TEST_F(Components, EvaluateAPercentageAgainWhenAMemberIsLost) {
  Component<Learner> learner(*master, {{"worker:update:100%", note}});
  tell("worker_1", "update", 1);
  work(learner);
  EXPECT_TRUE(learner->seen.empty());
  group.crash("worker_2");
  work(learner);
  EXPECT_EQ(learner->seen, std::vector<std::string>{"1"});
}

TEST_F(Components, CountMembersThatComeWhileTheyRun) {
  Component<Learner> learner(*master, {{"worker:update:100%", note}});
  work(learner);
  group.add("worker_3");
  ASSERT_TRUE(group.settle());
  for (int i = 1; i <= 2; ++i) tell("worker_" + std::to_string(i), "update", i);
  work(learner);
  EXPECT_TRUE(learner->seen.empty()) << "two of three";
  tell("worker_3", "update", 3);
  work(learner);
  EXPECT_EQ(learner->seen.size(), 1U);
}

TEST_F(Components, CallAHandlerWithWhatIsThereWhenTheTimeBoundHasPassed) {
  Component<Learner> learner(*master);
  std::vector<bool> partial;
  learner.on("worker:rollout:2 within 5s", [&](Learner& local, Proxy& proxy, Messages messages) {
    partial.push_back(learner.is_partial());
    note(local, proxy, messages);
  });
  tell("worker_1", "rollout", 1);
  work(learner);
  EXPECT_TRUE(learner->seen.empty());
  group.net.run_for(seconds(5));
  work(learner);
  EXPECT_EQ(learner->seen, std::vector<std::string>{"1"});
  tell("worker_1", "rollout", 2);
  tell("worker_1", "rollout", 3);
  work(learner);
  EXPECT_EQ(learner->seen.back(), "2 3");
  EXPECT_EQ(partial, (std::vector{true, false}));
}

TEST_F(Components, ReplyToEachTaskWithTheValueThatTheHandlerReturns) {
  Component<Learner> learner(*master, {{"worker:update:3", &Learner::train}});
  const SessionId first = task("worker_1", "update");
  const SessionId second = task("worker_2", "update");
  tell("worker_2", "update");
  work(learner);
  EXPECT_EQ(outcome(group, group["worker_1"], first).messages.at(0).body(), Value(1));
  EXPECT_EQ(outcome(group, group["worker_2"], second).messages.at(0).body(), Value(1));
}

TEST_F(Components, LeaveAloneWhatTheHandlerHasAnsweredItself) {
  std::vector<Error> reported;
  Component<Learner> learner(
      *master,
      {.report = [&](const HandlerFailure& failure) { reported.push_back(failure.error); }},
      {{"update", [](Learner&, Proxy& proxy, const Messages& messages) -> Result<Value> {
          EXPECT_TRUE(proxy.reply(messages[0], "mine"));
          return Value("not mine");
        }}});
  const SessionId id = task("worker_1", "update");
  work(learner);
  EXPECT_EQ(outcome(group, group["worker_1"], id).messages.at(0).body(), Value("mine"));
  EXPECT_TRUE(reported.empty());
}

TEST_F(Components, KeepATaskOpenWhoseHandlerReturnsNothing) {
  Messages kept;
  Component<Learner> learner(*master);
  learner.on("update", [&](Learner&, Proxy&, Messages messages) { kept = std::move(messages); });
  const SessionId id = task("worker_1", "update");
  work(learner);
  EXPECT_FALSE(group["worker_1"].is_answered(id));
  ASSERT_TRUE(master->reply(kept.at(0), 5));
  EXPECT_EQ(outcome(group, group["worker_1"], id).messages.at(0).body(), Value(5));
}

TEST_F(Components, ReportAHandlerThatThrowsTellWhoWaitsAndGoOn) {
  std::vector<HandlerFailure> reported;
  Component<Learner> learner(
      *master, {.report = [&](const HandlerFailure& failure) { reported.push_back(failure); }},
      {{"bad", refuse}, {"good", &Learner::train}});
  const SessionId bad = task("worker_1", "bad");
  const SessionId good = task("worker_1", "good");
  EXPECT_EQ(launch(learner).error().code(), Code::timeout) << "it went on";
  EXPECT_EQ(outcome(group, group["worker_1"], bad).failures.at(0).error,
            Error(Code::failed, "master: no gradient"));
  EXPECT_EQ(outcome(group, group["worker_1"], good).messages.at(0).body(), Value(1));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].error, Error(Code::failed, "no gradient"));
  ASSERT_EQ(reported[0].messages.size(), 1U) << "the message is not lost";
  EXPECT_EQ(reported[0].messages[0].session_id(), bad);
}

TEST_F(Components, TakeAnErrorThatIsReturnedAsOneThatIsThrown) {
  Component<Learner> learner(*master, {.policy = ErrorPolicy::stop},
                             {{"a", [](Learner&, Proxy&, const Messages&) -> Status {
                                 return Error(Code::not_found, "no such model");
                               }}});
  const SessionId id = task("worker_1", "a");
  EXPECT_EQ(launch(learner).error(), Error(Code::not_found, "no such model"));
  EXPECT_EQ(outcome(group, group["worker_1"], id).failures.at(0).error.code(), Code::not_found);
}

TEST_F(Components, StopAtAnErrorIfToldToAndMayBeLaunchedAgain) {
  Component<Learner> learner(*master, {.policy = ErrorPolicy::stop},
                             {{"bad", refuse}, {"good", &Learner::train}});
  tell("worker_1", "bad");
  tell("worker_1", "good");
  EXPECT_EQ(launch(learner).error(), Error(Code::failed, "no gradient"));
  EXPECT_EQ(learner->model_version, 0);
  work(learner);
  EXPECT_EQ(learner->model_version, 1);
}

TEST_F(Components, BeginNoHandlerOnceOneHasStoppedThem) {
  Component<Learner> learner(*master);
  learner.on("stop", [&](Learner&, Proxy&, const Messages&) { learner.stop(); })
      .on("*", &Learner::train);
  tell("worker_1", "stop", 4);
  EXPECT_TRUE(launch(learner)) << "to be stopped is no error";
  EXPECT_TRUE(learner.is_stopped());
  EXPECT_TRUE(learner.launch(kNow)) << "for good";
  EXPECT_EQ(learner->model_version, 0);
  const Messages rest = *learner.clear();
  ASSERT_EQ(rest.size(), 1U) << "what was due is not lost";
  EXPECT_EQ(rest[0].body(), Value(4));
}

TEST_F(Components, ReplyOfAHandlerThatStopsThem) {
  Component<Learner> learner(*master);
  learner.on("stop", [&](Learner&, Proxy&, const Messages&) {
    learner.stop();
    return "bye";
  });
  const SessionId id = task("worker_1", "stop");
  EXPECT_TRUE(launch(learner));
  EXPECT_EQ(outcome(group, group["worker_1"], id).messages.at(0).body(), Value("bye"));
}

TEST_F(Components, FailATaskThatNobodyWaitsFor) {
  Component<Learner> learner(*master, {{"update", note}});
  const SessionId id = task("worker_1", "udpate");
  work(learner);
  EXPECT_EQ(outcome(group, group["worker_1"], id).failures.at(0).error.code(), Code::unsupported);
}

TEST_F(Components, HandOverWhatNobodyWaitsForIfAskedTo) {
  std::vector<std::string> tags;
  Component<Learner> learner(
      *master, {.unhandled = [&](const Message& message) { tags.emplace_back(message.tag()); }},
      {{"update", note}});
  const SessionId id = task("worker_1", "udpate");
  work(learner);
  EXPECT_EQ(tags, std::vector<std::string>{"udpate"});
  EXPECT_FALSE(group["worker_1"].is_answered(id)) << "that is the callback's business now";
}

TEST_F(Components, ReportWhatAnEventCannotKeep) {
  std::vector<HandlerFailure> reported;
  Component<Learner> learner(
      *master,
      {.report = [&](const HandlerFailure& failure) { reported.push_back(failure); },
       .events = {.waiting_limit = 1}},
      {{all_of("worker:a:1", "worker:b:1"), note}});
  const SessionId first = task("worker_1", "a");
  task("worker_1", "a");
  work(learner);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].error.code(), Code::overloaded);
  EXPECT_EQ(reported[0].messages.at(0).session_id(), first);
  EXPECT_EQ(outcome(group, group["worker_1"], first).failures.at(0).error.code(), Code::overloaded);
}

TEST_F(Components, LogWhatAnEventCannotKeepWhereNobodyWantsAReport) {
  std::vector<std::string> lines;
  log::to(log::Level::warning,
          [&](log::Level, std::string_view line) { lines.emplace_back(line); });
  Component<Learner> learner(*master, {.events = {.waiting_limit = 1}},
                             {{all_of("worker:a:1", "worker:b:1"), note}});
  for (int i = 0; i < 3; ++i) task("worker_1", "a");
  work(learner);
  log::to(log::Level::off, nullptr);
  ASSERT_EQ(lines.size(), 1U) << "one a second";
  EXPECT_NE(lines[0].find("keep 'a' of worker_1"), std::string::npos) << lines[0];
}

TEST_F(Components, RefuseAWrongConditionAtOnceOrAtTheLaunch) {
  Component<Learner> learner(*master, {{"worker:update:6x", note}});
  const Status ended = learner.launch(kNow);
  EXPECT_EQ(ended.error().code(), Code::invalid);
  EXPECT_NE(ended.error().message().find("character 16"), std::string::npos);
  Component<Learner> other(*master);
  EXPECT_EQ(other.add({"a:b", note}).error().code(), Code::invalid);
  EXPECT_EQ(launch(other).error().code(), Code::timeout) << "it heard of it already";
}

TEST_F(Components, LetAHandlerRemoveItself) {
  Component<Learner> learner(*master);
  EventId id = 0;
  int calls = 0;
  id = *learner.add({"*:x:1", [&](Learner&, Proxy&, const Messages&) {
                       ++calls;
                       EXPECT_TRUE(learner.remove(id));
                     }});
  tell("worker_1", "x");
  tell("worker_1", "x");
  work(learner);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(learner.remove(id).error().code(), Code::not_found);
}

TEST_F(Components, GiveBackWhatWaitedForAnEventThatIsRemoved) {
  Component<Learner> learner(*master);
  const EventId id = *learner.add({"*:x:2", note});
  tell("worker_1", "x", 9);
  work(learner);
  const Messages rest = *learner.remove(id);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].body(), Value(9));
}

TEST_F(Components, RefuseToBeLaunchedInsideAHandler) {
  Component<Learner> learner(*master);
  std::optional<Code> code;
  learner.on(
      "x", [&](Learner&, Proxy&, const Messages&) { code = learner.launch(kNow).error().code(); });
  tell("worker_1", "x");
  work(learner);
  EXPECT_EQ(code, Code::invalid);
}

TEST_F(Components, TellHowLongEachHandlerTook) {
  std::vector<HandlerRun> runs;
  Component<Learner> learner(*master,
                             {.measure = [&](const HandlerRun& run) { runs.push_back(run); }}, {});
  const EventId slow = *learner.add(
      {"*:slow:2", [&](Learner&, Proxy&, const Messages&) { group.net.run_for(seconds(3)); }});
  const EventId bad = *learner.add({"bad", refuse});
  for (const char* tag : {"slow", "slow", "bad"}) tell("worker_1", tag);
  work(learner);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].event, slow);
  EXPECT_EQ(runs[0].messages, 2U);
  EXPECT_EQ(runs[0].duration, seconds(3));
  EXPECT_FALSE(runs[0].has_failed);
  EXPECT_EQ(runs[1].event, bad);
  EXPECT_TRUE(runs[1].has_failed);
}

TEST_F(Components, TellWhatEachHandlerReturnedInTheOrderOfTheCalls) {
  std::vector<std::string> returned;
  const auto gather = [&](const HandlerRun& run) {
    const HandlerAnswer& answer = *run.answer;
    if (!answer) {
      returned.push_back(answer.error().message());
    } else {
      returned.push_back(*answer ? *(*answer)->as_string() : "nothing");
    }
  };
  Component<Learner> learner(*master, {.measure = gather}, {});
  learner.on("x", [](Learner&, Proxy&, const Messages&) { return Value("first"); });
  learner.on("x", [](Learner&, Proxy&, const Messages&) {});
  learner.on("x", [](Learner&, Proxy&, const Messages&) -> Result<Value> {
    return Error(Code::failed, "third");
  });
  tell("worker_1", "x");
  work(learner);
  EXPECT_EQ(returned, (std::vector<std::string>{"first", "nothing", "third"}));
}

}  // namespace
}  // namespace muster::msg
