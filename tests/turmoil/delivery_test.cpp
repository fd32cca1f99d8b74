// Delivery at least once between real processes, which are killed.

#include <csignal>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "muster/msg/component.h"
#include "muster/msg/file_dedup_store.h"
#include "muster/msg/file_outbox.h"
#include "muster/net/testing/child_process.h"
#include "tests/turmoil/site.h"

namespace muster::tests {
namespace {

using msg::Component;
using msg::Delivery;
using msg::Message;
using msg::Proxy;
using msg::SessionType;
using net::testing::ChildProcess;
using std::chrono::seconds;

msg::Draft note(int number) {
  return {.tag = "note",
          .destination = "worker_1",
          .body = number,
          .session_type = SessionType::notification,
          .delivery = Delivery::at_least_once};
}

std::string describe(const Message& message) {
  return std::to_string(*message.body().as_integer()) + " " + message.message_id().to_string() +
         (message.is_redelivered() ? " again" : "");
}

// folder, drivers: says each note inside its handler, which returns once told to.
MUSTER_ROLE(slow_worker) {
  Site site(parent.arguments[0], parent.arguments[1]);
  const auto proxy = site.join(site.options("worker_1"));
  Component<int> worker(*proxy);
  worker.on("note", [&](int&, Proxy&, const std::vector<Message>& messages) {
    parent.pipe.write_line(describe(messages[0]));
    if (!parent.pipe.read_line()) worker.stop();
  });
  return worker.launch(std::chrono::minutes(5)) ? 0 : 1;
}

// folder, drivers: adds numbers up, exactly once each; dies after it has committed
// so many, if told to.
MUSTER_ROLE(adding_worker) {
  Site site(parent.arguments[0], parent.arguments[1]);
  int left = std::stoi(parent.arguments[2]);
  std::int64_t sum = 0;
  const auto store = *msg::FileDedupStore::open(
      parent.arguments[0] + "/handled", [&](std::span<const std::byte> effect) {
        sum += std::stoll(std::string(reinterpret_cast<const char*>(effect.data()), effect.size()));
      });
  msg::ProxyOptions options = site.options("worker_1");
  options.dedup = store.get();
  const auto proxy = site.join(options);
  Component<int> worker(*proxy);
  worker.on("note", [&](int&, Proxy&, const std::vector<Message>& messages) -> Status {
    const std::int64_t number = *messages[0].body().as_integer();
    const std::string effect = std::to_string(number);
    MUSTER_TRY_OK(store->commit(messages[0], std::as_bytes(std::span(effect))));
    if (--left == 0) ::kill(getpid(), SIGKILL);
    sum += number;
    return ok();
  });
  // The same as a task: how much it is now, committed with the effect.
  worker.on("add", [&](int&, Proxy&, const std::vector<Message>& messages) -> Result<wire::Value> {
    const std::string effect = std::to_string(*messages[0].body().as_integer());
    const std::int64_t total = sum + std::stoll(effect);
    MUSTER_TRY_OK(store->commit(messages[0], std::as_bytes(std::span(effect)), wire::Value(total)));
    if (--left == 0) ::kill(getpid(), SIGKILL);
    sum = total;
    return wire::Value(total);
  });
  worker.on("sum", [&](int&, Proxy&, auto) { return wire::Value(sum); });
  return worker.launch(std::chrono::minutes(5)) ? 0 : 1;
}

// folder, drivers, how many: sends, with an outbox, and says so.
MUSTER_ROLE(mortal_sender) {
  Site site(parent.arguments[0], parent.arguments[1]);
  const auto outbox = *msg::FileOutbox::open(parent.arguments[0] + "/outbox");
  msg::ProxyOptions options = site.options("master");
  options.outbox = outbox.get();
  options.expected = {{.name = "worker_1"}};
  const auto proxy = site.join(options);
  const int count = std::stoi(parent.arguments[2]);
  for (int i = 0; i < count; ++i) {
    if (!proxy->isend(note(i))) return 1;
  }
  parent.pipe.write_line("sent");
  static_cast<void>(parent.pipe.read_line());
  return proxy->leave(seconds(60)) ? 0 : 1;
}

class DeliveryProcess : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<ChildProcess> start(const std::string& role, const std::string& argument = "") {
    auto child = ChildProcess::start(role, {folder.path(), GetParam(), argument});
    EXPECT_TRUE(child) << child.error().describe();
    return *std::move(child);
  }
  static void await_kept(Proxy& proxy, std::size_t count) {
    const TimePoint deadline = proxy.loop().now() + seconds(60);
    while (proxy.counters().kept != count && proxy.loop().now() < deadline) {
      static_cast<void>(proxy.next_event(std::chrono::milliseconds(10)));
    }
    EXPECT_EQ(proxy.counters().kept, count);
  }

  Folder folder;
};
INSTANTIATE_TEST_SUITE_P(Drivers, DeliveryProcess, ::testing::Values("shm", "tcp"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(DeliveryProcess, WhatAKilledHandlerHadInHandComesAgainWithItsId) {
  Site site(folder.path(), GetParam());
  msg::ProxyOptions options = site.options("master");
  options.expected = {{.name = "worker_1"}};
  auto worker = start("slow_worker");
  const auto master = site.join(options);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(master->isend(note(i)));
  ASSERT_TRUE(worker->pipe().read_line()->starts_with("0 "));
  worker->pipe().write_line("return");
  const std::string second = *worker->pipe().read_line();
  ASSERT_TRUE(second.starts_with("1 ")) << second;
  await_kept(*master, 2);

  worker->signal(SIGKILL);
  ASSERT_TRUE(worker->wait());
  worker = start("slow_worker");

  EXPECT_EQ(*worker->pipe().read_line(), second + " again");
  worker->pipe().write_line("return");
  EXPECT_TRUE(worker->pipe().read_line()->starts_with("2 "));
  worker->pipe().write_line("return");
  await_kept(*master, 0);
}

TEST_P(DeliveryProcess, WithAStoreEachIsHandledExactlyOnceThoughTheWorkerIsKilledEachTime) {
  Site site(folder.path(), GetParam());
  msg::ProxyOptions options = site.options("master");
  options.expected = {{.name = "worker_1"}};
  auto worker = start("adding_worker", "3");
  const auto master = site.join(options);
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(master->isend(note(i)));
  for (int kills = 0; kills < 5; ++kills) {
    EXPECT_EQ(*worker->wait(), -SIGKILL);
    worker = start("adding_worker", kills < 4 ? "3" : "0");
  }
  await_kept(*master, 0);
  const auto sum = master->send({.tag = "sum", .destination = "worker_1"}, seconds(60));
  ASSERT_TRUE(sum) << sum.error().describe();
  EXPECT_EQ(sum->body(), wire::Value(20 * 21 / 2));
}

TEST_P(DeliveryProcess, AReplyThatDiedWithTheWorkerComesFromItsStore) {
  Site site(folder.path(), GetParam());
  msg::ProxyOptions options = site.options("master");
  options.expected = {{.name = "worker_1"}};
  auto worker = start("adding_worker", "2");
  const auto master = site.join(options);
  std::vector<msg::SessionId> ids;
  for (int i = 1; i <= 3; ++i) {
    ids.push_back(*master->isend(
        {.tag = "add", .destination = "worker_1", .body = i, .delivery = Delivery::at_least_once}));
  }
  EXPECT_EQ(*worker->wait(), -SIGKILL);
  worker = start("adding_worker", "0");
  const auto replies = master->receive_by_id(ids, seconds(60));
  ASSERT_TRUE(replies && replies->is_complete());
  EXPECT_EQ(replies->messages[0].body(), wire::Value(1));
  EXPECT_EQ(replies->messages[1].body(), wire::Value(3)) << "it died before it could say so";
  EXPECT_EQ(replies->messages[2].body(), wire::Value(6));
  await_kept(*master, 0);
}

TEST_P(DeliveryProcess, AKilledSendersOutboxIsSentByTheNext) {
  Site site(folder.path(), GetParam());
  const auto worker = site.join(site.options("worker_1"));
  auto sender = start("mortal_sender", "5");
  ASSERT_EQ(*sender->pipe().read_line(), "sent");
  std::map<msg::MessageId, int> times;
  for (int i = 0; i < 2; ++i) {
    const Message message = **worker->receive_once(seconds(60));
    ++times[message.message_id()];
    EXPECT_TRUE(worker->done(message));
  }
  sender->signal(SIGKILL);
  ASSERT_TRUE(sender->wait());
  sender = start("mortal_sender", "0");
  ASSERT_EQ(*sender->pipe().read_line(), "sent");
  for (int i = 2; i < 5; ++i) {
    const auto message = *worker->receive_once(seconds(60));
    ASSERT_TRUE(message);
    ++times[message->message_id()];
    EXPECT_EQ(message->body(), wire::Value(i));
    EXPECT_TRUE(worker->done(*message));
  }
  sender->pipe().write_line("leave");  // Which waits until all is done.
  EXPECT_EQ(*sender->wait(), 0);
  EXPECT_EQ(times.size(), 5U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id.to_string();
}

}  // namespace
}  // namespace muster::tests
