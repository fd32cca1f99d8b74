// Each rank dies at each store that others of its host see, of each plan that
// goes through shared memory, and at each message between hosts.
//
// Ranks are processes. Who returns a result has the right one, whoever else
// died; everybody ends and names the lost; and the survivors go on together. Elastic: nobody ends,
// and no two have other contributors to the same sum, nor has who died.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>

#include <gtest/gtest.h>

#include "muster/base/crash_point.h"
#include "muster/collectives/choices.h"
#include "muster/net/testing/leaks.h"
#include "tests/collectives/adders.h"
#include "tests/collectives/cases.h"
#include "tests/collectives/history.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;
using net::testing::ChildProcess;

constexpr Rank kRanks = 3;
// On hosts: it shares no memory with the others.
constexpr Rank kAway = 2;
constexpr std::uint64_t kSegment = 4096;  // Bytes: a few of them for each operation.
constexpr std::uint64_t kFew = 3;         // Elements that go through the slots alone.
constexpr std::uint64_t kMany = 3000;
constexpr std::size_t kSums = 2;  // Of elastic ones: the second is over those who are left.

// Of each plan, so many moments in each run; all of them where this is built for
// the label `long`.
#ifdef MUSTER_ALL_MOMENTS
constexpr std::size_t kMoments = SIZE_MAX;
#else
constexpr std::size_t kMoments = 1;
#endif

struct Scenario {
  Ground ground = Ground::readable;
  Operation operation = Operation::barrier;
  Algorithm algorithm = Algorithm::staged;
  std::uint64_t count = kMany;
  bool is_elastic = false;

  Case as_case() const {
    Case one;
    one.operation = operation;
    one.root = 1;
    one.is_in_arena = ground == Ground::arena;
    set_counts(one, kRanks, operation == Operation::barrier ? 0 : count);
    return one;
  }
  ChoiceTable table() const {
    return *ChoiceTable::make({{.ground = ground,
                                .operation = operation,
                                .ranks = 2,
                                .bytes = UINT64_MAX,
                                .algorithm = algorithm,
                                .segment = kSegment}});
  }
  std::string text() const {
    return std::string(name(operation)) + " " + std::string(name(algorithm)) + " on " +
           std::string(name(ground)) + ", " + std::to_string(count) +
           (is_elastic ? ", elastic" : "");
  }
};

// Not asked where everything fits into the slots; but the table wants one that can be.
Algorithm small_algorithm(Operation operation) {
  return operation == Operation::barrier ? Algorithm::direct : Algorithm::staged;
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const Operation operation : kOperations) {
    all.push_back({.operation = operation, .algorithm = small_algorithm(operation), .count = kFew});
    for (const Ground ground : {Ground::arena, Ground::readable, Ground::windows}) {
      for (const Algorithm algorithm : {Algorithm::direct, Algorithm::staged, Algorithm::flat}) {
        if (operation == Operation::barrier || !is_possible_on(ground, algorithm) ||
            !is_possible(Shape::equal(operation, kRanks, 0, kMany), algorithm)) {
          continue;
        }
        all.push_back({ground, operation, algorithm, kMany});
      }
    }
    if (is_possible(Shape::equal(operation, kRanks, 0, kMany), Algorithm::hierarchical,
                    {0, 0, 1})) {
      all.push_back({Ground::hosts, operation, Algorithm::hierarchical, kMany});
    }
  }
  using enum Operation;
  all.push_back({Ground::readable, all_reduce, Algorithm::staged, kFew, true});
  all.push_back({Ground::readable, all_reduce, Algorithm::direct, kMany, true});
  all.push_back({Ground::windows, all_reduce, Algorithm::staged, kMany, true});
  all.push_back({Ground::hosts, all_reduce, Algorithm::hierarchical, kMany, true});
  return all;
}

// Where a rank dies: at which passage of which point. Passage 0: nowhere.
struct Moment {
  Rank rank = 0;
  std::size_t point = 0;
  std::uint32_t passage = 0;
};

class Group {
 public:
  Group(std::size_t scenario, const Moment& moment) {
    for (Rank rank = 0; rank < kRanks; ++rank) {
      const bool is_victim = moment.passage > 0 && moment.rank == rank;
      auto child = ChildProcess::start(
          "faller", {folder_.path(), std::to_string(rank), std::to_string(scenario),
                     std::to_string(is_victim ? moment.point : 0),
                     std::to_string(is_victim ? moment.passage : 0),
                     moment.passage > 0 ? std::to_string(moment.rank) : ""});
      EXPECT_TRUE(child);
      ranks_.push_back(*std::move(child));
    }
  }
  ChildProcess& operator[](Rank rank) { return *ranks_[rank]; }
  std::string line(Rank rank) {
    const auto read = ranks_[rank]->pipe().read_line();
    return read ? *read : "nothing: " + read.error().describe();
  }
  void finish(Rank rank) {
    ranks_[rank]->pipe().write_line("go");
    EXPECT_EQ(*ranks_[rank]->wait(), 0);
  }
  // Elastic: what it has had, all others have had so, too.
  void expect_same_history(Rank rank) const {
    const auto own = History::of(folder_.path(), rank);
    EXPECT_EQ(own.size(), kSums);
    for (Rank other = 0; other < kRanks; ++other) {
      for (const auto& [number, contributors] : History::of(folder_.path(), other)) {
        EXPECT_EQ(own.at(number), contributors) << "ranks " << rank << " and " << other;
      }
    }
  }

 private:
  registries::embedded::TestFolder folder_;
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

// One round in peace; every moment at which a rank could have died.
std::vector<Moment> moments_of(std::size_t scenario) {
  std::vector<Moment> all;
  Group group(scenario, {});
  for (Rank rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(group.line(rank), "right");
    std::istringstream words(group.line(rank));
    std::uint32_t count = 0;
    for (std::size_t point = 0; words >> count; ++point) {
      for (std::uint32_t passage = 1; passage <= count; ++passage) {
        all.push_back({rank, point, passage});
      }
    }
  }
  for (Rank rank = 0; rank < kRanks; ++rank) group.finish(rank);
  return all;
}

bool has_moment_in(std::string_view file, const std::vector<Moment>& all) {
  return std::ranges::any_of(all, [&](const Moment& moment) {
    return std::string_view(crash_points()[moment.point].file).ends_with(file);
  });
}

void kill_at(std::size_t scenario, const Moment& moment) {
  const CrashPoint& at = crash_points()[moment.point];
  const std::string_view file(at.file);
  SCOPED_TRACE("rank " + std::to_string(moment.rank) + " at passage " +
               std::to_string(moment.passage) + " of " +
               std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(at.line));
  const bool is_elastic = scenarios()[scenario].is_elastic;
  Group group(scenario, moment);
  EXPECT_EQ(*group[moment.rank].wait(), -SIGKILL);
  const TimePoint gone = system_clock().now();
  for (Rank rank = 0; rank < kRanks; ++rank) {
    if (rank == moment.rank) continue;
    const std::string first = group.line(rank);
    EXPECT_TRUE(first == "right" || (!is_elastic && first == "named")) << first;
    if (!is_elastic) {
      EXPECT_EQ(group.line(rank), "named");
    }
  }
  // A second, and what a busy machine adds.
  EXPECT_LT(system_clock().now() - gone, 10s);
  for (Rank rank = 0; rank < kRanks; ++rank) {
    if (rank == moment.rank) continue;
    if (is_elastic) {
      group.expect_same_history(rank);
    } else {
      EXPECT_EQ(group.line(rank), "left 2");
    }
  }
  for (Rank rank = 0; rank < kRanks; ++rank) {
    if (rank != moment.rank) group.finish(rank);
  }
}

class Crashes : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(OfSharedMemory, Crashes,
                         ::testing::Range(std::size_t{0}, scenarios().size()), [](const auto& one) {
                           std::string text = scenarios()[one.param].text();
                           std::ranges::replace_if(
                               text, [](char letter) { return std::isalnum(letter) == 0; }, '_');
                           return text;
                         });

TEST_P(Crashes, AtEachMomentThatOthersSeeLeaveNoWrongResultAndNobodyWaiting) {
  const auto before = net::testing::look_at_holdings();
  const std::vector<Moment> all = moments_of(GetParam());
  ASSERT_FALSE(all.empty());
  const bool has_hosts = scenarios()[GetParam()].ground == Ground::hosts;
  EXPECT_TRUE(has_moment_in("/crew.cpp", all));
  EXPECT_EQ(has_moment_in("/crew_messages.cpp", all), has_hosts);
  const std::size_t stride = std::max<std::size_t>(all.size() / kMoments, 1);
  for (std::size_t i = GetParam() * 7 % stride; i < all.size(); i += stride) {
    kill_at(GetParam(), all[i]);
    if (HasFailure()) return;
  }
  EXPECT_EQ(net::testing::leaked(before, net::testing::look_at_holdings()), "");
}

// One rank's life, in a process of its own.
struct Faller {
  net::testing::Parent& parent;
  const std::vector<std::string>& given = parent.arguments;
  const Rank rank = static_cast<Rank>(std::stoul(given[1]));
  const Scenario scenario = scenarios()[std::stoul(given[2])];
  const std::size_t point = std::stoul(given[3]);
  const std::uint32_t passage = static_cast<std::uint32_t>(std::stoul(given[4]));
  const std::string& victim = given[5];

  int live() {
    const bool has_hosts = scenario.ground == Ground::hosts;
    const Rig rig(given[0], !has_hosts ? "shm" : rank == kAway ? "tcp" : "both");
    const ChoiceTable table = scenario.table();
    CommunicatorOptions options = rig.options(kRanks, rank);
    options.choices = &table;
    options.manners.elastic = scenario.is_elastic;
    options.use_process_vm = scenario.ground != Ground::windows;
    auto all = Communicator::join(*rig.loop, options, 60s);
    if (!all || !(*all)->barrier()) return 3;
    crash_at(point, passage);
    const Checked checked = scenario.is_elastic ? add(**all) : run(scenario.as_case(), **all);
    if (passage > 0) raise(SIGKILL);  // It did not come by there, this time.
    const std::string passages = passages_so_far();
    parent.pipe.write_line(!checked.outcome        ? verdict(checked.outcome.error())
                           : checked.wrong.empty() ? "right"
                                                   : checked.wrong);
    if (victim.empty()) {
      parent.pipe.write_line(passages);
    } else if (!scenario.is_elastic) {
      go_on_without(**all);
    }
    return parent.pipe.read_line() ? 0 : 4;  // Until the test has seen it all.
  }

  // Every contribution is a power of two, so that a sum tells whose are in.
  Checked add(Communicator& all) const {
    History history(given[0], rank);
    Result<Outcome> done = Outcome{};
    for (std::size_t i = 0; i < kSums; ++i) {
      std::vector<std::int32_t> numbers(scenario.count, 1 << rank);
      done = all.all_reduce(numbers, numbers, Reduction::sum);
      if (!done) return {std::move(done), ""};
      history.note(*done);
      std::int32_t sum = 0;
      for (const Rank one : *done->contributors) sum += 1 << one;
      if (std::ranges::count(numbers, sum) != std::ssize(numbers))
        return {std::move(done), "WRONG"};
    }
    return {std::move(done), ""};
  }

  std::string verdict(const Error& error) const {
    const bool is_named = error.code() == Code::unavailable &&
                          error.message().find("rank " + victim) != std::string::npos;
    return is_named ? "named" : error.describe();
  }

  // Who has a result hears of the loss at its next call.
  void go_on_without(Communicator& all) const {
    const auto next = all.barrier();
    parent.pipe.write_line(next ? "nothing was lost" : verdict(next.error()));
    auto left = all.shrink(50s);
    if (!left) {
      parent.pipe.write_line("shrink: " + left.error().describe());
      return;
    }
    std::vector<std::int32_t> ones(2000, 1);
    const auto sum = (*left)->all_reduce(ones, ones, Reduction::sum);
    const bool is_right = sum && std::ranges::count(ones, 2) == std::ssize(ones);
    parent.pipe.write_line(is_right ? "left " + std::to_string((*left)->size()) : "WRONG");
    // Nobody leaves before all have been here.
    static_cast<void>((*left)->barrier());
  }

  static std::string passages_so_far() {
    std::string text;
    for (const CrashPoint& one : crash_points()) text += std::to_string(one.passed) + " ";
    return text;
  }
};

// folder, rank, scenario, point, passage, who dies
MUSTER_ROLE(faller) { return Faller{parent}.live(); }

}  // namespace
}  // namespace muster::tests
