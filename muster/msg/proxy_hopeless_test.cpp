// Calls that wait for what will never come: they end, and say why.

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/proxy_threads.h"
#include "muster/net/handshake.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience(20);

// Told by one who waits, now and then.
std::atomic<bool> is_waiting{false};
bool note_waiting() {
  is_waiting = true;
  is_waiting.notify_all();
  return false;
}

// A master that keeps nothing for who is away, and a worker with a task for it.
struct ProxyHopeless : testing::ThreadsTest {
  ProxyHopeless()
      : ThreadsTest([](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }) {
    worker = group.start("worker_1");
    ProxyOptions options = group.options("master");
    options.absent.max_messages = 0;
    master = group.join(std::move(options), {{.name = "worker_1"}});
    EXPECT_TRUE(worker->wait_for_peers({{.name = "master"}}, kPatience));
    EXPECT_TRUE(worker->isend({.tag = "sum", .destination = "master"}));
    task = **master->receive_once(kPatience);
  }

  // The worker dies. The link tells at once, the registry after `delay`; until then who sends
  // to it waits for room.
  void lose_worker(Duration delay) {
    set_delay(delay);
    worker.reset();
    set_delay(milliseconds(1));
    while (master->peer("worker_1")->presence == Presence::here) {
      ASSERT_TRUE(master->next_event(kPatience));
    }
    ASSERT_EQ(master->peer("worker_1")->presence, Presence::connecting);
  }

  void set_delay(Duration delay) {
    const loop::Turn turn(group.loop());
    group.registry().set_delay(delay);
  }

  Status send() {
    Result<Message> sent = master->send({.tag = "sum", .destination = "worker_1"}, kPatience);
    return sent ? ok() : Status(std::move(sent).error());
  }
  // What becomes of a send that waits when `end` is called.
  Error told(const Draft& draft, const std::function<void()>& end) {
    is_waiting = false;
    std::optional<Error> error;
    std::jthread caller([&] {
      const auto sent = master->send(draft, Wait(kPatience).asking(note_waiting));
      if (!sent) error = sent.error();
    });
    is_waiting.wait(false);
    end();
    caller.join();
    return error.value_or(Error(Code::internal, "it was done"));
  }

  std::unique_ptr<Proxy> worker;
  std::unique_ptr<Proxy> master;
  Message task;
};

TEST_F(ProxyHopeless, SendToOneThatTurnsOutToBeLostNamesIt) {
  lose_worker(milliseconds(300));
  const Status sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::unavailable);
  EXPECT_NE(sent.error().message().find("worker_1"), std::string::npos);
}

TEST_F(ProxyHopeless, ReplyToOneThatTurnsOutToBeLostFails) {
  lose_worker(milliseconds(300));
  const Status sent = master->reply(task, 1, {}, kPatience);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::unavailable);
}

TEST_F(ProxyHopeless, ScatterToOneThatTurnsOutToBeLostHasThatAsAnOutcome) {
  lose_worker(milliseconds(300));
  const TimePoint begun = group.loop().now();
  const auto replies = master->scatter({.tag = "sum"}, {{"worker_1", 1}}, kPatience);
  EXPECT_LT(group.loop().now() - begun, kPatience / 2) << "at its deadline it would have it too";
  ASSERT_TRUE(replies);
  ASSERT_EQ(replies->failures.size(), 1U);
  EXPECT_EQ(replies->failures[0].error.code(), Code::unavailable);
}

TEST_F(ProxyHopeless, SendEndsWhenAnotherThreadLeaves) {
  lose_worker(seconds(60));  // So that nothing else ends it.
  const Error error = told({.tag = "sum", .destination = "worker_1"}, [this] {
    // The registry's answer comes as late.
    EXPECT_EQ(master->leave(milliseconds(1)).error().code(), Code::timeout);
  });
  EXPECT_EQ(error.code(), Code::cancelled);
}

TEST_F(ProxyHopeless, SendEndsWhenAYoungerOneBearsTheName) {
  ProxyOptions slow = group.options("worker_2");
  slow.max_waiting = 1;
  slow.window = net::kMinWindow;
  const auto reader = *Proxy::start(group.loop(), std::move(slow));  // Which does not read.
  ASSERT_TRUE(master->wait_for_peers({{.name = "worker_2"}}, kPatience));
  const Draft note{.tag = "note",
                   .destination = "worker_2",
                   .body = Buffer::adopt(std::vector<std::byte>(std::size_t{1} << 20)),
                   .session_type = SessionType::notification};
  while (master->isend(note)) continue;
  std::unique_ptr<Proxy> younger;
  const Error error = told(note, [&] { younger = group.start("master"); });
  EXPECT_EQ(error.code(), Code::invalid) << error.describe();
}

TEST_F(ProxyHopeless, TheNextEventOfAProxyThatIsOverIsNone) {
  std::optional<ProxyEvent> last = ProxyEvent{};
  std::jthread listener([&] {
    while (last) last = master->next_event();
  });
  EXPECT_TRUE(master->leave());
  listener.join();
  EXPECT_FALSE(last);
}

}  // namespace
}  // namespace muster::msg
