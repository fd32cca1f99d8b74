#include "tests/turmoil/turmoil.h"

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "muster/net/testing/child_process.h"
#include "tests/turmoil/site.h"

namespace muster::tests {
namespace {

using net::testing::ChildProcess;
using std::chrono::milliseconds;

// What is left to do once the killing is over, on a machine that is busy.
constexpr Duration kPatience = std::chrono::seconds(180);

class Stage {
 public:
  explicit Stage(const Turmoil& turmoil)
      : turmoil_(turmoil), chance_(turmoil.seed), begin_(system_clock().now()) {
    for (int i = 0; i < kMembers; ++i) start(i);
  }

  void play() {
    const TimePoint end = begin_ + turmoil_.time;
    while (system_clock().now() < end) {
      const int victim = pick(kMembers);
      if (asleep_.contains(victim)) {
        wake(victim);
      } else if (pick(10) < 7) {
        kill(victim);
      } else {
        children_[victim]->stop();
        asleep_[victim] = system_clock().now() + milliseconds(200 + pick(3500));
      }
      // Not a wait for anything: the pace of the faults.
      poll(nullptr, 0, 50 + pick(400));
      wake_those_due();
    }
    while (!asleep_.empty()) wake(asleep_.begin()->first);
  }

  void settle_accounts() {
    for (int i = 0; i < kMembers; ++i) EXPECT_EQ(await(i, "sent"), "sent") << name_of(i);
    for (int i = 0; i < kMembers; ++i) {
      children_[i]->pipe().write_line("report");
      std::string expected = "handled";
      for (int from = 0; from < kMembers; ++from) {
        if (from != i) expected += " " + name_of(from) + "=" + std::to_string(turmoil_.numbers);
      }
      EXPECT_EQ(await(i, "handled"), expected) << name_of(i);
    }
    for (auto& child : children_) child->pipe().write_line("leave");
    for (auto& child : children_) {
      const Result<int> code = child->wait(kPatience);
      EXPECT_TRUE(code && *code == 0);
    }
  }

  int kills() const { return kills_; }
  int stops() const { return stops_; }

 private:
  static std::string name_of(int number) { return "member_" + std::to_string(number); }
  int pick(int count) { return static_cast<int>(chance_() % static_cast<unsigned>(count)); }

  // Every third has no shared memory: its links are tcp.
  void start(int number) {
    const auto since = begin_.time_since_epoch();
    auto child = ChildProcess::start(
        "turmoil_member", {folder_.path(), name_of(number), number % 3 == 2 ? "tcp" : "shm,tcp",
                           std::to_string(turmoil_.numbers), std::to_string(since.count()),
                           std::to_string(Duration(turmoil_.time).count())});
    ASSERT_TRUE(child) << child.error().describe();
    if (children_.size() <= static_cast<std::size_t>(number)) children_.resize(number + 1);
    children_[number] = *std::move(child);
  }

  void kill(int number) {
    children_[number]->signal(SIGKILL);
    EXPECT_EQ(*children_[number]->wait(), -SIGKILL) << name_of(number) << " ended by itself";
    start(number);
    ++kills_;
  }
  void wake(int number) {
    children_[number]->signal(SIGCONT);
    asleep_.erase(number);
    ++stops_;
  }
  void wake_those_due() {
    const auto all = asleep_;
    for (const auto& [number, due] : all) {
      if (system_clock().now() >= due) wake(number);
    }
  }

  // The first line that begins with `word`; or what the member has to complain of.
  std::string await(int number, const std::string& word) {
    for (;;) {
      const Result<std::string> line = children_[number]->pipe().read_line(kPatience);
      if (!line) return line.error().describe();
      if (line->starts_with(word) || line->starts_with("broken")) return *line;
    }
  }

  const Turmoil turmoil_;
  Folder folder_;
  std::mt19937_64 chance_;
  const TimePoint begin_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
  std::map<int, TimePoint> asleep_;
  int kills_ = 0;
  int stops_ = 0;
};

}  // namespace

void expect_all_accounted_for(const Turmoil& turmoil) {
  Stage stage(turmoil);
  stage.play();
  stage.settle_accounts();
  std::printf("%d kills, %d stops, %llu messages, seed %llu\n", stage.kills(), stage.stops(),
              static_cast<unsigned long long>(turmoil.numbers * kMembers * (kMembers - 1)),
              static_cast<unsigned long long>(turmoil.seed));
  EXPECT_GT(stage.kills(), 3);
  EXPECT_GT(stage.stops(), 0);
}

}  // namespace muster::tests
