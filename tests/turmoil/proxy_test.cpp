// Proxies of real processes: tasks, bodies of every size and form, loss and return.

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "muster/msg/component.h"
#include "muster/net/testing/child_process.h"
#include "tests/turmoil/site.h"

namespace muster::tests {
namespace {

using msg::Audience;
using msg::Component;
using msg::Message;
using msg::Proxy;
using net::testing::ChildProcess;
using std::chrono::seconds;
using wire::Value;

// folder, drivers, name: gives back what it gets.
MUSTER_ROLE(echo_worker) {
  Site site(parent.arguments[0], parent.arguments[1]);
  const auto proxy = site.join(site.options(parent.arguments[2]));
  Component<int> worker(*proxy);
  worker.on("echo", [](int&, Proxy&, const std::vector<Message>& all) { return all[0].body(); });
  worker.on("size", [](int&, Proxy&, const std::vector<Message>& all) -> Result<Value> {
    const Buffer* bytes = all[0].body().as_bytes();
    if (bytes == nullptr) return Error(Code::invalid, "these are no bytes");
    return Value(bytes->size());
  });
  worker.on("bye", [&](int&, Proxy&, auto) {
    worker.stop();
    return Value("bye");
  });
  const Status ended = worker.launch(std::chrono::minutes(5));
  return ended && proxy->leave(seconds(30)) ? 0 : 1;
}

class ProxyProcess : public ::testing::TestWithParam<const char*> {
 protected:
  ProxyProcess() : site(folder.path(), GetParam()) {
    for (int i = 1; i <= 3; ++i) workers.push_back(start(i));
    msg::ProxyOptions options = site.options("master");
    options.expected = {{.type = "worker", .count = 3}};
    master = site.join(options);
  }
  std::unique_ptr<ChildProcess> start(int number) {
    auto child = ChildProcess::start(
        "echo_worker", {folder.path(), GetParam(), "worker_" + std::to_string(number)});
    EXPECT_TRUE(child) << child.error().describe();
    return *std::move(child);
  }

  Folder folder;
  Site site;
  std::vector<std::unique_ptr<ChildProcess>> workers;
  std::unique_ptr<Proxy> master;
};
INSTANTIATE_TEST_SUITE_P(Drivers, ProxyProcess, ::testing::Values("shm", "tcp"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(ProxyProcess, AnswerTasksOfEveryFormOverTheDriverThatWasChosen) {
  EXPECT_EQ(master->peer("worker_1")->driver, GetParam());
  const std::vector<std::byte> noise(std::size_t{3} << 20, std::byte{5});
  const std::vector<Value> bodies = {
      {}, 7, "text", Value::List{1, "two", Value::Map{{"three", 3.5}}}, Buffer::adopt(noise)};
  for (const Value& body : bodies) {
    for (const auto compression :
         {msg::Compression::none, msg::Compression::zstd, msg::Compression::lz4}) {
      const auto reply = master->send(
          {.tag = "echo", .destination = "worker_1", .body = body, .compression = compression},
          seconds(60));
      ASSERT_TRUE(reply) << reply.error().describe();
      EXPECT_EQ(reply->body(), body);
    }
  }
}

TEST_P(ProxyProcess, ScatterAndBroadcastReachAllAndNameWhoAnswered) {
  auto memory = *master->allocate(std::size_t{8} << 20);
  const Value large = std::move(memory).freeze(std::size_t{8} << 20);
  const auto sizes =
      master->broadcast(Audience::type("worker"), {.tag = "size", .body = large}, seconds(60));
  ASSERT_TRUE(sizes && sizes->is_complete());
  ASSERT_EQ(sizes->messages.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sizes->messages[i].source(), "worker_" + std::to_string(i + 1));
    EXPECT_EQ(sizes->messages[i].body(), Value(std::size_t{8} << 20));
  }
  const auto echoes = master->scatter(
      {.tag = "echo"}, {{"worker_1", 1}, {"worker_2", 2}, {"worker_3", 2}}, seconds(60));
  ASSERT_TRUE(echoes && echoes->is_complete());
  EXPECT_EQ(echoes->messages[2].body(), Value(2));
}

TEST_P(ProxyProcess, ALostOneFailsItsTasksAndAReturningOneIsTheSameWithAHigherIncarnation) {
  const msg::PeerId before = *master->find("worker_1");
  workers[0]->stop();
  const auto asked = *master->isend({.tag = "echo", .destination = "worker_1"});
  workers[0]->signal(SIGKILL);
  const auto replies = *master->receive_by_id({asked}, seconds(60));
  ASSERT_EQ(replies.failures.size(), 1U);
  EXPECT_EQ(replies.failures[0].error.code(), Code::unavailable);
  EXPECT_EQ(replies.failures[0].peer, "worker_1");
  const auto later = *master->isend(
      {.tag = "echo", .destination = "worker_1", .body = 9, .on_loss = msg::OnLoss::wait});

  workers[0] = start(1);

  const auto answers = *master->receive_by_id({later}, seconds(60));
  ASSERT_TRUE(answers.is_complete());
  EXPECT_EQ(answers.messages[0].body(), Value(9));
  EXPECT_EQ(*master->find("worker_1"), before);
  EXPECT_EQ(master->peer("worker_1")->incarnation, 2U);
}

TEST_P(ProxyProcess, ThoseWhoLeaveSayGoodbye) {
  const auto replies = master->broadcast(Audience::all(), {.tag = "bye"}, seconds(60));
  ASSERT_TRUE(replies && replies->is_complete());
  for (const auto& worker : workers) EXPECT_EQ(*worker->wait(), 0);
  for (int left = 0; left < 3;) {
    const auto event = master->next_event(seconds(60));
    ASSERT_TRUE(event);
    EXPECT_NE(event->kind, msg::ProxyEvent::Kind::lost);
    if (event->kind == msg::ProxyEvent::Kind::left) ++left;
  }
}

}  // namespace
}  // namespace muster::tests
