// What a proxy calls back, and what becomes of a call that is left by an exception of theirs.

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/proxy_threads.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Value;

// A master whose on_event throws where it is told of somebody new.
struct Callbacks : testing::ThreadsTest {
  Callbacks() : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {
    ProxyOptions options = group.options("master");
    options.on_event = [this](const ProxyEvent& event) {
      told.push_back(event.peer);
      if (event.peer == "thrower_1") throw std::runtime_error("from on_event");
    };
    worker = group.start("worker_1");
    master = group.join(std::move(options), {{.name = "worker_1"}});
    EXPECT_TRUE(master->wait_for_peers({{.name = "worker_1"}}, seconds(20)));
    told.clear();
  }
  // An event waits to be told: nobody is in a call of the master's meanwhile.
  void meet(const std::string& name) {
    others.push_back(group.start(name));
    EXPECT_TRUE(group.loop().wait_until([&] { return master->has_peers({{.name = name}}); },
                                        group.loop().now() + seconds(20)));
  }

  std::vector<std::string> told;
  std::unique_ptr<Proxy> worker;
  std::unique_ptr<Proxy> master;
  std::vector<std::unique_ptr<Proxy>> others;
};

const Wait kNow = Wait(Duration::zero());

TEST_F(Callbacks, LeaveSessionsToBeWaitedForAgainWhenTheyThrow) {
  const SessionId id = *master->isend({.tag = "sum", .destination = "worker_1"});
  meet("thrower_1");
  EXPECT_THROW(static_cast<void>(master->collect({id}, {}, seconds(20))), std::runtime_error);
  const auto none = master->receive_by_id({id}, kNow);
  ASSERT_TRUE(none) << none.error().describe();
  EXPECT_EQ(none->missing.size(), 1U);
  const Message task = **worker->receive_once(seconds(20));
  ASSERT_TRUE(worker->reply(task, 6));
  EXPECT_EQ(master->receive_by_id({id}, seconds(20))->messages.at(0).body(), Value(6));
}

TEST_F(Callbacks, LeaveNoSessionBehindThatOnlyTheCallKnew) {
  meet("thrower_1");
  EXPECT_THROW(
      static_cast<void>(master->send({.tag = "sum", .destination = "worker_1"}, seconds(20))),
      std::runtime_error);
  EXPECT_EQ(master->counters().sessions, 0U);
  others.clear();
  told.clear();
  EXPECT_TRUE(group.loop().wait_until([&] { return !master->has_peers({{.name = "thrower_1"}}); },
                                      group.loop().now() + seconds(20)));
  EXPECT_THROW(static_cast<void>(master->broadcast(Audience::all(), {.tag = "sum"}, seconds(20))),
               std::runtime_error);
  EXPECT_EQ(master->counters().sessions, 0U);
}

TEST_F(Callbacks, AreToldTheEventsThatFollowedByTheNextCall) {
  meet("thrower_1");
  meet("other_1");
  meet("other_2");
  EXPECT_THROW(static_cast<void>(master->receive_once(kNow)), std::runtime_error);
  EXPECT_EQ(told, (std::vector<std::string>{"thrower_1"}));
  EXPECT_TRUE(master->receive_once(kNow));
  EXPECT_EQ(told, (std::vector<std::string>{"thrower_1", "other_1", "other_2"}));
}

TEST_F(Callbacks, LoseNoMessageThatHadCome) {
  ASSERT_TRUE(worker->isend({.tag = "note",
                             .destination = "master",
                             .body = 7,
                             .session_type = SessionType::notification}));
  EXPECT_TRUE(group.loop().wait_until([&] { return master->counters().waiting == 1; },
                                      group.loop().now() + seconds(20)));
  meet("thrower_1");
  EXPECT_THROW(static_cast<void>(master->receive_once(seconds(20))), std::runtime_error);
  EXPECT_EQ(master->counters().waiting, 1U);
  EXPECT_EQ((*master->receive_once(kNow))->body(), Value(7));
}

TEST_F(Callbacks, AreAskedAgainForADecisionThatTheyThrewOutOf) {
  int asked = 0;
  ProxyOptions options = group.options("boss");
  options.minimum = {{.type = "other"}};
  options.minimum_deadline = milliseconds(1);
  options.on_too_few = [&](const std::string&) {
    if (++asked == 1) throw std::runtime_error("from on_too_few");
    return TooFew::go_on;
  };
  auto other = group.start("other_1");
  const auto boss = group.join(std::move(options), {{.name = "other_1"}});
  other.reset();
  EXPECT_THROW(static_cast<void>(boss->receive_once(seconds(20))), std::runtime_error);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(boss->receive_once(kNow));
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace muster::msg
