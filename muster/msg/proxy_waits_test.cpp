// What ends the waits of a proxy: cancelling, a question, an event, nothing at all.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/proxy_threads.h"

namespace muster::msg {
namespace {

using std::chrono::seconds;
using testing::echo;
using testing::Worker;

struct ProxyWaits : testing::ThreadsTest {
  ProxyWaits() : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {}
};

TEST_F(ProxyWaits, OfEveryKindCanBeCancelled) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  const SessionId id = *master->isend({.tag = "sum", .destination = "worker_1"});
  const Draft sum{.tag = "sum"};
  const std::vector<std::function<Code(Wait)>> calls{
      [&](Wait wait) {
        return master->send({.tag = "sum", .destination = "worker_1"}, wait).error().code();
      },
      [&](Wait wait) { return master->receive_once(wait).error().code(); },
      [&](Wait wait) { return master->receive_by_id({id}, wait).error().code(); },
      [&](Wait wait) { return master->wait_for_peers({{.name = "nobody"}}, wait).error().code(); },
      [&](Wait wait) { return master->scatter(sum, {{"worker_1", 1}}, wait).error().code(); },
      [&](Wait wait) { return master->broadcast(Audience::all(), sum, wait).error().code(); },
      [&](Wait wait) {
        return master->request({.tag = "sum", .destination = "worker_1"})
            .get(wait.stop())
            .error()
            .code();
      },
      [&](Wait wait) {
        ProxyOptions options = group.options("late");
        options.expected = {{.name = "nobody"}};
        return Proxy::join(group.loop(), std::move(options), wait).error().code();
      },
      // It has no error to tell it by.
      [&](Wait wait) {
        while (master->next_event(wait)) continue;
        return wait.stop().stop_requested() ? Code::cancelled : Code::internal;
      },
  };
  for (const auto& call : calls) {
    std::stop_source source;
    std::optional<Code> code;
    std::jthread waiting([&] { code = call(Wait(source.get_token())); });
    source.request_stop();
    waiting.join();
    EXPECT_EQ(code, Code::cancelled);
  }
  EXPECT_TRUE(master->session_state(id)) << "its answer may still be waited for";
}

std::atomic<int> questions{0};
std::atomic<bool> is_held_while_asked{false};
loop::Loop* asked_loop = nullptr;

bool third_time() {
  if (asked_loop->is_held()) is_held_while_asked = true;
  return ++questions == 3;
}

TEST_F(ProxyWaits, ThatAskEndOnceTheAnswerIsYes) {
  const auto silent = group.start("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  asked_loop = &group.loop();
  const std::vector<std::function<Code(Wait)>> calls{
      [&](Wait wait) {
        return master->send({.tag = "sum", .destination = "worker_1"}, wait).error().code();
      },
      [&](Wait wait) { return master->receive_once(wait).error().code(); },
  };
  for (const auto& call : calls) {
    questions = 0;
    EXPECT_EQ(call(Wait(seconds(60)).asking(third_time)), Code::cancelled);
    EXPECT_EQ(questions, 3);
  }
  EXPECT_FALSE(is_held_while_asked);
  questions = 4;
  EXPECT_FALSE(*master->receive_once(Wait(Duration::zero()).asking(third_time)));
  EXPECT_EQ(questions, 4) << "who does not wait does not ask";
}

TEST_F(ProxyWaits, ReceiveOnceOfZeroDoesNotWait) {
  const auto master = join("master", {});
  const auto none = master->receive_once(Duration::zero());
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ProxyWaits, EventsAreGivenToACallbackOnTheCallersThread) {
  ProxyOptions options = group.options("master");
  std::vector<std::pair<std::string, std::thread::id>> heard;
  options.on_event = [&](const ProxyEvent& event) {
    if (event.kind == ProxyEvent::Kind::joined) {
      heard.emplace_back(event.peer, std::this_thread::get_id());
    }
  };
  const auto master = *Proxy::start(group.loop(), std::move(options));
  Worker worker(group, "worker_1", echo);
  ASSERT_TRUE(master->wait_for_peers({{.name = "worker_1"}}, seconds(20)));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0], std::pair(std::string("worker_1"), std::this_thread::get_id()));
}

TEST_F(ProxyWaits, ACallThatWaitsWakesForAnEvent) {
  ProxyOptions options = group.options("master");
  std::stop_source stop;
  options.on_event = [&](const ProxyEvent& event) {
    if (event.kind == ProxyEvent::Kind::joined) stop.request_stop();
  };
  const auto master = *Proxy::start(group.loop(), std::move(options));
  const auto worker = group.start("worker_1");
  // No message ever comes; what the callback does ends the wait.
  EXPECT_EQ(master->receive_once(Wait(stop.get_token())).error().code(), Code::cancelled);
}

}  // namespace
}  // namespace muster::msg
