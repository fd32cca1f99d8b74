// Whole groups under virtual time: crashes, returns, partitions and registry
// outages by a seed. A failing seed replays exactly: MUSTER_SEED=N runs it alone
// and prints what happened.

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "muster/msg/testing/sim_group.h"

namespace muster::msg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SimGroup;
using wire::Value;

const Wait kNow = Wait(Duration::zero());
constexpr std::uint64_t kSeeds = 300;
constexpr std::uint64_t kShares = 6;  // So that no one test takes long.

class Drama {
 public:
  explicit Drama(std::uint64_t seed, bool keeps_transcript)
      : group({.seed = seed, .keeps_transcript = keeps_transcript}),
        size(3 + static_cast<int>(group.net.chance() % 6)) {
    for (int i = 0; i < size; ++i) group.add(name_of(i));
  }

  void play() {
    ASSERT_TRUE(group.settle()) << "they never met";
    const int acts = 10 + static_cast<int>(group.net.chance() % 30);
    for (int i = 0; i < acts; ++i) {
      act();
      group.net.run_for(milliseconds(group.net.chance() % 800));
      for (const std::string& name : group.names()) serve(name);
    }
    end_faults();
    // What is to be true once the last fault is a lease ago.
    ASSERT_TRUE(group.settle(seconds(12))) << "they do not agree";
    finish_sessions();
  }

  SimGroup group;

 private:
  struct Asked {
    SessionId id;
    TimePoint deadline;
    bool is_over = false;
  };

  std::string name_of(int number) const { return "worker_" + std::to_string(number); }
  std::string someone() { return name_of(static_cast<int>(group.net.chance() % size)); }

  void act() {
    const std::string name = someone();
    const std::string other = someone();
    switch (group.net.chance() % 10) {
      case 0:
        if (group.has(name)) {
          group.crash(name);
          asked_.erase(name);
          seen_.erase(name);
        }
        break;
      case 1:
        if (!group.has(name)) group.add(name);
        break;
      case 2: group.net.break_connections(name, other); break;
      case 3:
        if (name != other) part(name, other);
        break;
      case 4: join_all(); break;
      case 5: group.registry.set_reachable(group.net.chance() % 2 == 0); break;
      default: talk(name, other);
    }
  }

  void part(const std::string& a, const std::string& b) {
    group.net.part(a, b);
    parted_.emplace(a, b);
  }

  void join_all() {
    for (const auto& [a, b] : parted_) group.net.join(a, b);
    parted_.clear();
  }

  void talk(const std::string& name, const std::string& other) {
    if (!group.has(name) || name == other) return;
    Proxy& proxy = group[name];
    const int count = 1 + static_cast<int>(group.net.chance() % 5);
    for (int i = 0; i < count; ++i) {
      Draft draft{.tag = "say", .destination = other};
      // What it says is in order for each pair of incarnations.
      draft.body = Value::List{proxy.incarnation(), ++said_[name + ">" + other]};
      const bool is_task = group.net.chance() % 2 == 0;
      draft.session_type = is_task ? SessionType::task : SessionType::notification;
      if (is_task) draft.deadline = group.net.now() + milliseconds(100 + group.net.chance() % 5000);
      const TimePoint deadline = draft.deadline;
      const Result<SessionId> sent = proxy.isend(std::move(draft));
      if (sent && is_task) asked_[name].push_back({*sent, deadline});
    }
  }

  // Takes all that came to `name`, checks it, and answers most of it.
  void serve(const std::string& name) {
    Proxy& proxy = group[name];
    for (;;) {
      const auto taken = proxy.receive_once(kNow);
      if (!taken || !*taken) break;
      const Message& message = **taken;
      const auto& body = *message.body().as_list();
      Last& last = seen_[name][std::string(message.source())];
      const auto incarnation = *body[0].as_unsigned();
      const auto number = *body[1].as_integer();
      EXPECT_GE(incarnation, last.incarnation) << "an old incarnation was heard";
      EXPECT_GT(number, last.number) << "out of order, or twice";
      last = {incarnation, number};
      if (message.session_type() == SessionType::task && group.net.chance() % 4 != 0) {
        static_cast<void>(proxy.reply(message, message.body()));
      }
    }
    check_deadlines(name);
  }

  void check_deadlines(const std::string& name) {
    for (Asked& asked : asked_[name]) {
      if (asked.is_over) continue;
      if (group[name].is_answered(asked.id)) {
        asked.is_over = true;
        EXPECT_TRUE(group[name].receive_by_id({asked.id}, kNow)->missing.empty());
      } else {
        EXPECT_LE(group.net.now(), asked.deadline + milliseconds(1)) << "it hung past its deadline";
      }
    }
  }

  void end_faults() {
    join_all();
    group.registry.set_reachable(true);
    for (int i = 0; i < size; ++i) {
      if (!group.has(name_of(i))) group.add(name_of(i));
    }
  }

  void finish_sessions() {
    group.net.run_for(seconds(6));
    for (const std::string& name : group.names()) {
      serve(name);
      for (const Asked& asked : asked_[name]) EXPECT_TRUE(asked.is_over);
      EXPECT_EQ(group[name].counters().open_sessions, 0U);
    }
  }

  struct Last {
    std::uint64_t incarnation = 0;
    std::int64_t number = 0;
  };
  const int size;
  std::set<std::pair<std::string, std::string>> parted_;
  std::map<std::string, std::int64_t> said_;
  std::map<std::string, std::vector<Asked>> asked_;
  std::map<std::string, std::map<std::string, Last>> seen_;
};

class GroupSim : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Share, GroupSim, ::testing::Range(std::uint64_t{0}, kShares));

TEST_P(GroupSim, HoldsItsPromisesUnderRandomFaults) {
  const char* chosen = std::getenv("MUSTER_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : GetParam();
  const std::uint64_t last = chosen != nullptr ? first : kSeeds;
  for (std::uint64_t seed = first; seed <= last; seed += kShares) {
    Drama drama(seed, chosen != nullptr);
    drama.play();
    if (!::testing::Test::HasFailure()) continue;
    for (const std::string& line : drama.group.net.transcript()) std::printf("%s\n", line.c_str());
    FAIL() << "seed " << seed;
  }
}

TEST(GroupSimReplay, GivesTheSameRunAgain) {
  const auto digest = [](std::uint64_t seed) {
    Drama drama(seed, false);
    drama.play();
    return drama.group.net.digest();
  };
  EXPECT_EQ(digest(7), digest(7));
  EXPECT_NE(digest(7), digest(8));
}

}  // namespace
}  // namespace muster::msg
