#include "muster/net/conversation.h"

#include <thread>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"

namespace muster::net {
namespace {

constexpr int kRounds = 3000;

// One process's half of a conversation, on a loop of its own.
struct Half {
  explicit Half(const std::shared_ptr<drivers::InprocHub>& hub) : loop(*loop::Loop::make()) {
    const loop::Turn turn(*loop);
    drivers::InprocOptions inproc;
    inproc.hub = hub;
    driver = drivers::make_inproc_driver(*loop, inproc);
    EndpointOptions options;
    options.token.assign(32, std::byte{7});
    options.drivers = {driver.get()};
    endpoint = *Endpoint::make(*loop, options);
    conversation = std::make_unique<Conversation>(*loop, *endpoint);
  }
  ~Half() {
    const loop::Turn turn(*loop);
    conversation.reset();
    endpoint.reset();
    driver.reset();
  }
  TimePoint deadline() const { return loop->now() + std::chrono::seconds(20); }

  std::unique_ptr<loop::Loop> loop;
  std::unique_ptr<Driver> driver;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Conversation> conversation;
};

// Each message is waited for, by a thread that leads its loop, follows, or is
// woken by the keeper: none may be lost on the way.
TEST(Conversation, AnswersEveryMessage) {
  const auto hub = drivers::make_inproc_hub();
  Half near(hub);
  Half far(hub);
  const Address address = *Address::parse("inproc://talk");
  ASSERT_TRUE(far.conversation->listen(std::span(&address, 1)));
  std::thread echo([&] {
    for (int i = 0; i < kRounds; ++i) {
      Result<Buffer> body = far.conversation->receive(far.deadline());
      if (!body || !far.conversation->send(*std::move(body), far.deadline())) break;
    }
  });
  DialOptions dial;
  dial.named = {"inproc"};
  ASSERT_TRUE(near.conversation->connect({address}, dial, near.deadline()));
  int answered = 0;
  for (; answered < kRounds; ++answered) {
    const std::string text = "message " + std::to_string(answered);
    const Status sent =
        answered % 2 == 0
            ? near.conversation->send(Buffer::copy_of(text), near.deadline())
            : near.conversation->send_copy(std::as_bytes(std::span(text)), near.deadline());
    ASSERT_TRUE(sent);
    const Result<Buffer> body = near.conversation->receive(near.deadline());
    ASSERT_TRUE(body) << body.error().describe();
    ASSERT_EQ(body->text(), text);
  }
  echo.join();
  EXPECT_EQ(answered, kRounds);
}

TEST(Conversation, StaysWithTheFirstWhoCame) {
  const auto hub = drivers::make_inproc_hub();
  Half far(hub);
  Half first(hub);
  Half second(hub);
  const Address address = *Address::parse("inproc://talk");
  ASSERT_TRUE(far.conversation->listen(std::span(&address, 1)));
  DialOptions dial;
  dial.named = {"inproc"};
  ASSERT_TRUE(first.conversation->connect({address}, dial, first.deadline()));
  ASSERT_TRUE(far.conversation->wait_until_up(far.deadline()));

  ASSERT_TRUE(second.conversation->connect({address}, dial, second.deadline()));
  EXPECT_EQ(second.conversation->receive(second.deadline()).error().code(), Code::unavailable);

  ASSERT_TRUE(first.conversation->send(Buffer::copy_of("still here"), first.deadline()));
  const Result<Buffer> body = far.conversation->receive(far.deadline());
  ASSERT_TRUE(body) << body.error().describe();
  EXPECT_EQ(body->text(), "still here");
}

TEST(Conversation, OneThatWasNotBegunSaysSo) {
  Half half(drivers::make_inproc_hub());
  EXPECT_EQ(half.conversation->send(Buffer::copy_of("x")).error().code(), Code::invalid);
}

TEST(Conversation, WaitsNoLongerThanItsDeadline) {
  Half half(drivers::make_inproc_hub());
  EXPECT_EQ(half.conversation->receive(half.loop->now()).error().code(), Code::timeout);
}

}  // namespace
}  // namespace muster::net
