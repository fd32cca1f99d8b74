// A Redis that refuses, lies, stands still or forgets.

#include <array>
#include <functional>
#include <list>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "muster/base/descriptor.h"
#include "muster/msg/testing/registry_suite.h"
#include "muster/registries/redis/redis.h"
#include "muster/registries/redis/testing/redis_server.h"

namespace muster::registries::redis {
namespace {

using msg::testing::Component;
using msg::testing::request_for;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct RedisTrouble : msg::testing::RegistryDesk {
  Component& join(const std::string& name, const RedisOptions& options,
                  Duration lease = milliseconds(2000)) {
    const loop::Turn turn(*loop);
    auto registry = make_redis_registry(*loop, options);
    EXPECT_TRUE(registry) << registry.error().describe();
    return sit_down(*std::move(registry), request_for("g", name, lease));
  }
  static RedisOptions at(const RedisServer& server) {
    RedisOptions options;
    options.port = server.port();
    return options;
  }
};

TEST_F(RedisTrouble, AComponentLiesWhereMaroLooksForIt) {
  const RedisServer server;
  ASSERT_TRUE(is_admitted(join("learner", at(server))));
  EXPECT_EQ(server.ask("HKEYS g:worker"), "learner\n");
  EXPECT_NE(server.ask("HGET g:worker learner").find("tcp://127.0.0.1:7000"), std::string::npos);
  const int left = std::stoi(server.ask("PTTL g::lease:learner"));
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 2000);
}

TEST_F(RedisTrouble, TheDatabaseIsTheOneAskedFor) {
  const RedisServer server;
  RedisOptions options = at(server);
  options.database = 3;
  ASSERT_TRUE(is_admitted(join("a", options)));
  EXPECT_EQ(server.ask("-n 3 HKEYS g:worker"), "a\n");
  EXPECT_EQ(server.ask("-n 0 DBSIZE"), "0\n");
}

TEST_F(RedisTrouble, AWrongPasswordEndsTheMembership) {
  const RedisServer server({.password = "right"});
  RedisOptions options = at(server);
  options.password = "wrong";
  Component& a = join("a", options);
  EXPECT_TRUE(run_until([&] { return a.is_ended(); }));
  EXPECT_EQ(a.record(), std::vector<std::string>{"ended invalid"});
  Component& b = join("b", at(server));  // With none at all.
  EXPECT_TRUE(run_until([&] { return b.is_ended(); }));
}

TEST_F(RedisTrouble, AUserThatMayNotDoWhatIsNeededIsToldSo) {
  const RedisServer server({.acl_user = "reader on >secret ~* &* -@all +hello +subscribe +eval"});
  RedisOptions options = at(server);
  options.username = "reader";
  options.password = "secret";
  Component& a = join("a", options);
  EXPECT_TRUE(run_until([&] { return a.is_ended() || a.has("unreachable"); }));
  EXPECT_EQ(a.admissions(), 0);
}

TEST_F(RedisTrouble, ACertificateOfAnotherAuthorityOrNameIsNotTrusted) {
  const RedisServer server({.has_tls = true});
  const RedisServer other({.has_tls = true});
  RedisOptions options = at(server);
  options.tls.is_on = true;
  options.tls.ca_file = other.ca_file();
  Component& a = join("a", options);
  EXPECT_TRUE(run_until([&] { return a.has("unreachable"); }));
  options.tls.ca_file = server.ca_file();
  options.tls.server_name = "elsewhere.example";
  Component& b = join("b", options);
  EXPECT_TRUE(run_until([&] { return b.has("unreachable"); }));
  options.tls.server_name = "localhost";
  Component& c = join("c", options);
  EXPECT_TRUE(is_admitted(c));
  EXPECT_EQ(a.admissions() + b.admissions(), 0);
  EXPECT_EQ(c.peers(), 0U);
}

TEST_F(RedisTrouble, ACertificateOfOurOwnIsShownWhereTheServerAsksForOne) {
  const RedisServer server({.has_tls = true, .asks_for_certificates = true});
  RedisOptions options = at(server);
  options.tls = {.is_on = true, .ca_file = server.ca_file(), .server_name = "localhost"};
  Component& without = join("a", options);
  EXPECT_TRUE(run_until([&] { return without.has("unreachable"); }));
  options.tls.cert_file = server.ca_file();
  options.tls.key_file = server.key_file();
  EXPECT_TRUE(is_admitted(join("b", options)));
  EXPECT_EQ(without.admissions(), 0);
}

TEST_F(RedisTrouble, AFileThatIsNoCertificateIsRefusedAtOnce) {
  const loop::Turn turn(*loop);
  RedisOptions options;
  options.tls.is_on = true;
  options.tls.ca_file = "/nowhere/ca.pem";
  EXPECT_EQ(make_redis_registry(*loop, options).error().code(), Code::invalid);
}

TEST_F(RedisTrouble, WhoEmptiesItDisturbsNobody) {
  const RedisServer server;
  Component& a = join("a", at(server));
  Component& b = join("b", at(server));
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1 && b.knows("a") == 1; }));

  server.ask("FLUSHALL");

  EXPECT_TRUE(run_until([&] { return server.ask("HLEN g:worker") == "2\n"; }));
  Component& c = join("c", at(server));
  EXPECT_TRUE(run_until([&] { return c.peers() == 2 && a.knows("c") == 1; }));
  EXPECT_FALSE(a.has("lost") || b.has("lost") || a.has("unreachable"));
  EXPECT_EQ(a.incarnation(), 1U);
}

TEST_F(RedisTrouble, WhoWasAwayWhenItWasEmptiedComesBackHigher) {
  const RedisServer server;
  Component& a = join("a", at(server));
  ASSERT_TRUE(is_admitted(join("b", at(server))));
  Component& second = join("b", at(server));
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 2; }));
  second.leave();
  ASSERT_TRUE(run_until([&] { return a.has("left b/2"); }));

  server.ask("FLUSHALL");
  // Whether it comes before a has noticed, or after.
  Component& third = join("b", at(server));

  EXPECT_TRUE(run_until([&] { return third.incarnation() > 2 && a.knows("b") > 2; }));
  EXPECT_FALSE(third.is_ended());
}

TEST_F(RedisTrouble, OneThatStoodStillForLongBlamesNobody) {
  RedisServer server;
  Component& a = join("a", at(server));
  Component& b = join("b", at(server));
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1 && b.knows("a") == 1; }));

  server.stop();
  ASSERT_TRUE(run_until([&] { return a.has("unreachable") && b.has("unreachable"); }));
  // Until all leases in it have run out.
  const TimePoint stopped = loop->now();
  EXPECT_FALSE(loop->wait_until([] { return false; }, stopped + milliseconds(2500)));
  server.go_on();

  EXPECT_TRUE(run_until([&] { return a.admissions() == 2 && b.admissions() == 2; }));
  EXPECT_FALSE(a.has("lost") || b.has("lost"));
}

TEST_F(RedisTrouble, OneThatComesBackFullAndLateBlamesNobody) {
  RedisServer server({.keeps_data = true});
  constexpr milliseconds kLease(600);
  Component& a = join("a", at(server), kLease);
  Component& b = join("b", at(server), kLease);
  ASSERT_TRUE(run_until([&] { return a.knows("b") == 1 && b.knows("a") == 1; }));

  server.shut_down();
  ASSERT_TRUE(run_until([&] { return a.has("unreachable") && b.has("unreachable"); }));
  const TimePoint down = loop->now();
  EXPECT_FALSE(loop->wait_until([] { return false; }, down + 2 * kLease));
  server.start();

  // Whoever is back first finds the other's lease run out.
  EXPECT_TRUE(run_until([&] { return a.admissions() == 2 && b.admissions() == 2; }));
  EXPECT_FALSE(a.has("lost") || b.has("lost"));
}

// Accepts one connection after the other and says the same to each.
TEST_F(RedisTrouble, NonsenseInItsPlaceCostsAConnectionAndNoMore) {
  Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  RedisOptions options;
  options.port = ntohs(address.sin_port);
  Component& a = join("a", options);

  const std::array<std::string, 5> answers = {
      "HTTP/1.1 400 Bad Request\r\n\r\n", "$999999999999\r\n", "*1000000000\r\n",
      std::string("\0\0\0", 3) + std::string(10000, '\0'), "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n"};
  for (const std::string& answer : answers) {
    pollfd wanted{listener.get(), POLLIN, 0};
    ASSERT_EQ(poll(&wanted, 1, 30'000), 1) << "it did not try again";
    const Descriptor socket(accept(listener.get(), nullptr, nullptr));
    send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    pollfd gone{socket.get(), POLLRDHUP, 0};
    EXPECT_EQ(poll(&gone, 1, 30'000), 1) << "it did not hang up at " << answer.substr(0, 20);
  }
  EXPECT_FALSE(a.is_ended());
  EXPECT_EQ(a.admissions(), 0);
}

}  // namespace
}  // namespace muster::registries::redis
