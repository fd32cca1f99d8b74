// What can be seen of a group: reports, surveys, and tokens that are replaced.

#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "muster/drivers/inproc/inproc.h"
#include "muster/msg/proxy.h"
#include "muster/msg/survey.h"
#include "muster/msg/testing/local_group.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::LocalGroup;
using wire::Value;

Report full_report() {
  Report report{.group = "g",
                .name = "learner",
                .type = "learner",
                .incarnation = 3,
                .pid = 4711,
                .age = seconds(61)};
  report.counters = {.waiting = 1,
                     .waiting_bytes = 2,
                     .open_sessions = 3,
                     .sessions = 16,
                     .kept = 17,
                     .dropped = 4,
                     .refused = 5,
                     .unwanted = 6};
  PeerInfo peer{.name = "worker_1", .type = "worker", .incarnation = 7};
  peer.presence = Presence::lost;
  peer.addresses = {"shm://a", "tcp://127.0.0.1:1"};
  peer.driver = "shm";
  peer.address = "shm://a";
  peer.age = milliseconds(1500);
  peer.silence = milliseconds(20);
  peer.messages_sent = 10;
  peer.messages_received = 11;
  peer.bytes_sent = 12;
  peer.bytes_received = 13;
  peer.queued = 14;
  peer.kept = 15;
  report.peers = {peer, peer};
  return report;
}

TEST(Reports, AreReadAsTheyWereWritten) {
  const Report report = full_report();
  const Result<Report> read = to_report(to_value(report));
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(to_value(*read), to_value(report));
  EXPECT_EQ(read->age, report.age);
  EXPECT_EQ(read->peers[1].presence, Presence::lost);
  EXPECT_EQ(read->peers[1].silence, milliseconds(20));
}

// Those of before have not all that is told now.
bool was_added_later(const Value& key) {
  const std::string* const text = key.as_string();
  return text != nullptr && (*text == "kept" || *text == "sessions");
}

TEST(Reports, ThatLackAnythingOrHaveItOfAnotherKindAreRefused) {
  const Value whole = to_value(full_report());
  for (std::size_t i = 0; i < whole.as_map()->size(); ++i) {
    Value::Map less = *whole.as_map();
    const bool is_enough = was_added_later(less[i].key);
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(to_report(less).has_value(), is_enough) << i;
    Value::Map other = *whole.as_map();
    other[i].value = true;
    EXPECT_FALSE(to_report(other)) << i;
  }
  const Value peer = whole.find("peers")->as_list()->front();
  for (std::size_t i = 0; i < peer.as_map()->size(); ++i) {
    Value::Map less = *peer.as_map();
    const bool is_enough = was_added_later(less[i].key);
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    Value::Map with = *whole.as_map();
    with.back().value = Value::List{less};
    EXPECT_EQ(to_report(with).has_value(), is_enough) << i;
  }
  EXPECT_FALSE(to_report(Value("a text")));
  EXPECT_FALSE(to_report(Value()));
}

// Tokens that a test replaces.
class Replaceable final : public net::TokenSource {
 public:
  std::vector<net::Token> accepted() override {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }
  void replace(std::vector<net::Token> tokens) {
    const std::lock_guard lock(mutex_);
    tokens_ = std::move(tokens);
  }

 private:
  std::mutex mutex_;
  std::vector<net::Token> tokens_{{1, std::vector<std::byte>(32, std::byte{1})}};
};

struct Observed : ::testing::Test {
  ProxyOptions options(const std::string& name) {
    ProxyOptions made = group.options(name);
    made.token.clear();
    made.tokens = tokens;
    return made;
  }
  std::unique_ptr<Proxy> join(const std::string& name, std::vector<Expected> expected = {}) {
    return group.join(options(name), std::move(expected));
  }
  Result<std::vector<Surveyed>> look(const Wait& wait = seconds(20)) {
    const ProxyOptions made = options("nobody");
    return survey(
        group.loop(),
        {.group = made.group, .registry = made.registry, .drivers = made.drivers, .tokens = tokens},
        wait);
  }

  std::shared_ptr<Replaceable> tokens = std::make_shared<Replaceable>();
  LocalGroup group{[](loop::Loop& loop) { return drivers::make_inproc_driver(loop); }};
};

// What `who` says of `whom`.
PeerInfo said_of(const std::vector<Surveyed>& all, std::size_t who, const std::string& whom) {
  for (const PeerInfo& peer : all[who].report->peers) {
    if (peer.name == whom) return peer;
  }
  ADD_FAILURE() << whom << " is not known";
  return {};
}

TEST_F(Observed, ASurveyTellsWhoIsThereAndWhatWentOverEachLink) {
  const auto worker = join("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(master->isend({.tag = "note",
                               .destination = "worker_1",
                               .body = Buffer::copy_of(std::string(1000, 'x')),
                               .session_type = SessionType::notification}));
  }
  ASSERT_TRUE(group.loop().wait_until([&] { return worker->counters().waiting == 3; },
                                      group.loop().now() + seconds(20)));
  // Nobody is inside any call of the worker's: the library answers by itself.
  const auto found = look();
  ASSERT_TRUE(found) << found.error().describe();
  ASSERT_EQ(found->size(), 2U);
  for (const Surveyed& one : *found) {
    ASSERT_TRUE(one.report) << one.why_silent->describe();
    EXPECT_EQ(one.report->name, one.member.name);
    EXPECT_EQ(one.report->incarnation, 1U);
    EXPECT_EQ(one.report->group, "local");
    EXPECT_GT(one.report->pid, 0);
    ASSERT_EQ(one.report->peers.size(), 1U);
  }
  EXPECT_EQ((*found)[0].member.name, "master");
  EXPECT_EQ((*found)[1].report->counters.waiting, 3U);
  const PeerInfo to = said_of(*found, 0, "worker_1");
  const PeerInfo from = said_of(*found, 1, "master");
  EXPECT_EQ(to.driver, "inproc");
  EXPECT_EQ(to.presence, Presence::here);
  EXPECT_GE(to.bytes_sent, 3000U);
  EXPECT_EQ(to.messages_sent, from.messages_received);
  EXPECT_EQ(to.bytes_sent, from.bytes_received);
  EXPECT_EQ(from.messages_sent, to.messages_received);
  EXPECT_LT(to.silence, seconds(20));
}

TEST_F(Observed, ASurveyDisturbsNobody) {
  const auto worker = join("worker_1");
  const auto master = join("master", {{.name = "worker_1"}});
  while (master->next_event(Wait(Duration::zero()))) {
  }
  const ProxyCounters before = master->counters();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(look()->size(), 2U);
  EXPECT_FALSE(master->next_event(Wait(Duration::zero())));
  EXPECT_EQ(master->counters().refused, before.refused);
  EXPECT_EQ(master->peers().size(), 1U);
  EXPECT_TRUE(master->isend({.tag = "still", .destination = "worker_1"}));
}

TEST_F(Observed, ASurveyOfNobodyIsEmptyAndOneWithAWrongTokenHearsNothing) {
  EXPECT_TRUE(look()->empty());
  const auto worker = join("worker_1");
  const auto wrong = *net::make_fixed_tokens({{1, std::vector<std::byte>(32, std::byte{0x66})}});
  const ProxyOptions made = options("nobody");
  const auto found = survey(
      group.loop(),
      {.group = made.group, .registry = made.registry, .drivers = made.drivers, .tokens = wrong},
      seconds(20));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_FALSE(found->front().report);
  EXPECT_EQ(found->front().why_silent->code(), Code::invalid);
}

TEST_F(Observed, ASurveyEndsWhenItsCallerAsksForThat) {
  const auto worker = join("worker_1");
  const auto source = std::make_unique<std::stop_source>();
  source->request_stop();
  EXPECT_EQ(look(Wait(source->get_token())).error().code(), Code::cancelled);
}

TEST_F(Observed, ReportsOfAProgramAreThoseThatOthersGet) {
  const auto worker = join("worker_1");
  const Report own = worker->report();
  EXPECT_EQ(own.name, "worker_1");
  EXPECT_EQ(own.type, "worker");
  EXPECT_EQ(own.incarnation, 1U);
  EXPECT_TRUE(own.peers.empty());
}

TEST_F(Observed, LinksThatAreMadeLaterProveTheTokenThatCountsThen) {
  const auto worker = join("worker_1");
  const std::vector<net::Token> first = tokens->accepted();
  const net::Token second{2, std::vector<std::byte>(32, std::byte{2})};
  tokens->replace({second, first.front()});
  const auto old = *net::make_fixed_tokens(first);
  ProxyOptions late = options("worker_2");
  late.tokens = old;  // Has not heard of the new one yet.
  late.expected = {{.name = "worker_1"}};
  EXPECT_TRUE(Proxy::join(group.loop(), late, seconds(20)));
  tokens->replace({second});
  const auto master = join("master", {{.name = "worker_1"}});
  EXPECT_TRUE(master->has_peers({{.name = "worker_1"}}));
  late.name = "worker_3";
  EXPECT_FALSE(Proxy::join(group.loop(), late, milliseconds(300)));
}

}  // namespace
}  // namespace muster::msg
