#include "muster/net/resolver.h"

#include <atomic>
#include <semaphore>

#include <gtest/gtest.h>

#include "muster/drivers/tcp/dialing.h"

namespace muster::drivers::tcp {
namespace {

// Stands in for the system: it waits until it may answer.
struct Oracle {
  std::counting_semaphore<> answers{0};
  std::vector<SocketAddress> addresses = {*SocketAddress::parse("127.0.0.1", 7)};

  Resolver::LookUp look_up() {
    return [this](const std::string&, std::uint16_t) -> Addresses {
      answers.acquire();
      return addresses;
    };
  }
};

struct ResolverRig {
  ~ResolverRig() {
    const loop::Turn turn(*loop);
    resolver.reset();
  }
  Result<std::uint64_t> ask(int& answered) {
    const loop::Turn turn(*loop);
    return resolver->resolve("some-name", 7, [&answered](const Addresses& addresses) {
      EXPECT_TRUE(addresses);
      ++answered;
    });
  }
  bool wait(const std::function<bool()>& done) {
    return loop->wait_until(done, loop->now() + std::chrono::seconds(30));
  }

  std::unique_ptr<loop::Loop> loop = *loop::Loop::make();
  Oracle oracle;
  std::unique_ptr<Resolver> resolver = std::make_unique<Resolver>(*loop, oracle.look_up());
};

TEST(Resolver, AnswersOnTheLoopWithoutHoldingItUp) {
  ResolverRig rig;
  int answered = 0;
  ASSERT_TRUE(rig.ask(answered));
  bool is_free = false;
  rig.loop->post([&] { is_free = true; });
  ASSERT_TRUE(rig.wait([&] { return is_free; }));
  EXPECT_EQ(answered, 0);

  rig.oracle.answers.release();

  EXPECT_TRUE(rig.wait([&] { return answered == 1; }));
}

TEST(Resolver, SaysNothingToOneWhoHasGone) {
  ResolverRig rig;
  int kept = 0;
  int dropped = 0;
  const auto ticket = rig.ask(dropped);
  ASSERT_TRUE(rig.ask(kept));
  {
    const loop::Turn turn(*rig.loop);
    rig.resolver->cancel(*ticket);
  }

  rig.oracle.answers.release(2);

  EXPECT_TRUE(rig.wait([&] { return kept == 1; }));
  const loop::Turn turn(*rig.loop);
  rig.resolver.reset();
  EXPECT_EQ(dropped, 0);
}

TEST(Resolver, RefusesTooManyAtOnceAndRecovers) {
  ResolverRig rig;
  int answered = 0;
  int asked = 0;
  for (; rig.ask(answered); ++asked) ASSERT_LT(asked, 1000);
  EXPECT_EQ(rig.ask(answered).error().code(), Code::overloaded);

  rig.oracle.answers.release(asked);
  ASSERT_TRUE(rig.wait([&] { return answered == asked; }));

  rig.oracle.answers.release(1);
  ASSERT_TRUE(rig.ask(answered));
  EXPECT_TRUE(rig.wait([&] { return answered == asked + 1; }));
}

TEST(Resolver, WaitsForItsThreadsWhenItGoes) {
  ResolverRig rig;
  int answered = 0;
  ASSERT_TRUE(rig.ask(answered));
  rig.oracle.answers.release();
  {
    const loop::Turn turn(*rig.loop);
    rig.resolver.reset();
  }
  EXPECT_LE(answered, 1);
}

TEST(Dialing, NamesWhatItDialedWhenNoAddressOfANameAnswers) {
  ResolverRig rig;
  rig.oracle.addresses = {*SocketAddress::parse("127.0.0.1", 1)};
  rig.oracle.answers.release();
  std::optional<Error> why;
  Dialing dialing(*rig.loop, *rig.resolver, {"tcp", "some-name", 7, 7},
                  [&](const Result<int>& socket) {
                    ASSERT_FALSE(socket);
                    why = socket.error();
                  });
  {
    const loop::Turn turn(*rig.loop);
    dialing.start(std::chrono::seconds(30));
  }

  ASSERT_TRUE(rig.wait([&] { return why.has_value(); }));

  EXPECT_EQ(why->code(), Code::unavailable);
  EXPECT_NE(why->message().find("dial tcp://some-name:7: "), std::string::npos) << why->message();
  const loop::Turn turn(*rig.loop);
  dialing.stop();
}

}  // namespace
}  // namespace muster::drivers::tcp
