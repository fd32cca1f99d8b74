// Each rank dies, or stands still, before each event of each operation and plan, where all are
// apart and where some share the memory of a machine.
//
// Under virtual time, over the code that real ranks run. Who returns a result
// has the right one, whoever else died; everybody ends, in time, and names the
// lost; and the survivors go on together.

#include <algorithm>

#include <gtest/gtest.h>

#include "muster/collectives/choices.h"
#include "tests/collectives/cases.h"
#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSegment = 64;  // Bytes: a few of them for each operation.
// Of messages that are so large that they land in the caller's memory.
constexpr std::uint64_t kLargeSegment = std::uint64_t{128} << 10;
constexpr std::uint64_t kLargeCount = 70000;

// Of each plan, so many moments in each run; all of them where this is built for
// the label `long`.
#ifdef MUSTER_ALL_MOMENTS
constexpr bool kAllMoments = true;
constexpr std::uint64_t kMoments = UINT64_MAX;
constexpr std::uint64_t kLongMoments = UINT64_MAX;
#else
constexpr bool kAllMoments = false;
constexpr std::uint64_t kMoments = 8;
constexpr std::uint64_t kLongMoments = 2;  // Of those that take longer.
#endif

struct Moment {
  Rank rank;
  std::uint64_t event;

  // Of two things that may happen then, both where all moments are tried; else the other one of
  // each `nth`.
  std::vector<bool> ways(std::uint64_t nth) const {
    if (kAllMoments) return {false, true};
    return {(event + rank) % nth == 0};
  }
};

// Spread over all, and otherwise for each `seed`.
std::vector<Moment> moments(Rank ranks, std::uint64_t events, std::uint64_t seed,
                            std::uint64_t most = kMoments) {
  const std::uint64_t all = ranks * events;
  const std::uint64_t stride = std::max<std::uint64_t>(all / most, 1);
  std::vector<Moment> chosen;
  for (std::uint64_t i = seed % stride; i < all; i += stride) {
    chosen.push_back({static_cast<Rank>(i % ranks), i / ranks});
  }
  return chosen;
}

// Time goes slowly where ranks look at each other's desks: it takes little of it until silence
// is loss.
constexpr Duration kSilence = 100ms;

struct Scenario {
  Operation operation = Operation::barrier;
  Algorithm algorithm = Algorithm::direct;
  Rank ranks = 2;
  std::uint64_t count = 40;
  std::uint64_t segment = kSegment;
  bool is_uneven = false;
  std::vector<int> machines = {};
  Ground ground = Ground::links;
  bool may_read = true;  // Ranks of one machine read each other's private memory.

  Case as_case() const {
    Case one;
    one.operation = operation;
    one.is_in_arena = ground == Ground::arena;
    one.root = ranks - 1;
    one.is_uneven = is_uneven;
    set_counts(one, ranks, count);
    return one;
  }
  std::string text() const {
    return std::string(name(operation)) + " " + std::string(name(algorithm)) + " " +
           std::to_string(ranks) + " x " + std::to_string(count) + (is_uneven ? " uneven" : "") +
           " on " + std::string(name(ground)) + (may_read ? "" : " without process_vm");
  }
};

// The counts are told first, where not all ranks know them.
std::vector<Scenario> uneven_scenarios(Rank ranks) {
  using enum Operation;
  using enum Algorithm;
  std::vector<Scenario> all{{scatter, linear, ranks},
                            {gather, linear, ranks},
                            {all_gather, ring, ranks},
                            {reduce_scatter, ring, ranks},
                            {all_to_all, pairwise, ranks}};
  for (Scenario& one : all) one.is_uneven = true;
  return all;
}

// All that pass messages.
std::vector<Scenario> scenarios(Rank ranks) {
  std::vector<Scenario> all = uneven_scenarios(ranks);
  for (const Operation operation : kOperations) {
    for (const Algorithm algorithm : kAlgorithms) {
      const Scenario one{operation, algorithm, ranks};
      if (is_possible_on(Ground::links, algorithm) &&
          is_possible(Shape::equal(operation, ranks, 0, one.count), algorithm)) {
        all.push_back(one);
      }
    }
  }
  if (!kAllMoments) return all;
  using enum Operation;
  using enum Algorithm;
  all.push_back({broadcast, chain, ranks, kLargeCount, kLargeSegment});
  all.push_back({all_gather, ring, ranks, kLargeCount, kLargeSegment});
  all.push_back({all_reduce, ring, ranks, kLargeCount, kLargeSegment});
  return all;
}

class Rounds {
 public:
  explicit Rounds(const Scenario& scenario)
      : scenario_(scenario),
        one_(scenario.as_case()),
        table_(*ChoiceTable::make({{.ground = scenario.ground,
                                    .operation = scenario.operation,
                                    .ranks = 2,
                                    .bytes = UINT64_MAX,
                                    .algorithm = scenario.algorithm,
                                    .segment = scenario.segment}})) {}

  // One round in peace; how many events it has.
  std::uint64_t events() const {
    SimRanks ranks = make();
    std::uint64_t events = 0;
    EXPECT_TRUE(ranks.run(
        [&](Rank, Communicator& all) {
          const Checked checked = run(one_, all);
          EXPECT_TRUE(checked.outcome) << scenario_.text();
          EXPECT_EQ(checked.wrong, "");
        },
        [&](std::uint64_t event) { events = event + 1; }));
    return events;
  }

  void kill(Rank victim, std::uint64_t when, bool quietly) const {
    SCOPED_TRACE(scenario_.text() + ": rank " + std::to_string(victim) + " before event " +
                 std::to_string(when) + (quietly ? " quietly" : ""));
    SimRanks ranks = make();
    std::vector<std::uint64_t> completed(scenario_.ranks);
    TimePoint killed{};
    // A death is told at once. Silence lasts, and is looked for at times.
    const Duration bound = quietly ? kSilence * 3 / 2 : 1s;
    const bool has_ended = ranks.run(
        [&](Rank rank, Communicator& all) {
          const Checked checked = run(one_, all);
          if (!ranks.is_alive(rank)) return;
          EXPECT_EQ(checked.wrong, "");
          if (checked.outcome) completed[rank] = checked.outcome->number;
          if (!checked.outcome) expect_named(checked.outcome.error(), victim);
          if (killed != TimePoint{}) {
            EXPECT_LE(ranks.now() - killed, bound);
          }
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          killed = ranks.now();
          ranks.kill(victim, quietly);
        });
    EXPECT_TRUE(has_ended);
    if (killed != TimePoint{}) go_on_without(ranks, victim, completed);
  }

  // While the others give up what one has not taken, it stands still, but not for so long that
  // it is lost.
  void kill_while_stopped(Rank victim, Rank stopped, std::uint64_t when) const {
    SCOPED_TRACE(scenario_.text() + ": rank " + std::to_string(victim) + " dies and rank " +
                 std::to_string(stopped) + " stops before event " + std::to_string(when));
    SimRanks ranks = make();
    std::vector<std::uint64_t> completed(scenario_.ranks);
    TimePoint goes_on = kForever;
    bool has_died = false;
    EXPECT_TRUE(ranks.run(
        [&](Rank rank, Communicator& all) {
          const Checked checked = run(one_, all);
          if (!ranks.is_alive(rank)) return;
          EXPECT_EQ(checked.wrong, "");
          if (checked.outcome) completed[rank] = checked.outcome->number;
          if (!checked.outcome) expect_named(checked.outcome.error(), victim);
        },
        [&](std::uint64_t event) {
          if (event == when) {
            ranks.stop(stopped);
            ranks.kill(victim);
            has_died = true;
            goes_on = ranks.now() + kSilence * 2 / 3;
          }
          if (ranks.now() < goes_on) return;
          ranks.let_go_on(stopped);
          goes_on = kForever;
        }));
    if (goes_on != kForever) ranks.let_go_on(stopped);
    if (has_died) go_on_without(ranks, victim, completed);
  }

  // Shorter than what is taken for a loss: nothing is to be seen of it.
  void stop(Rank rank, std::uint64_t when, bool is_frozen) const {
    SCOPED_TRACE(scenario_.text() + ": rank " + std::to_string(rank) + " stops before event " +
                 std::to_string(when) + (is_frozen ? " frozen" : ""));
    SimRanks ranks = make();
    TimePoint goes_on = kForever;
    EXPECT_TRUE(ranks.run(
        [&](Rank, Communicator& all) {
          const Checked checked = run(one_, all);
          EXPECT_TRUE(checked.outcome) << checked.outcome.error().describe();
          EXPECT_EQ(checked.wrong, "");
        },
        [&](std::uint64_t event) {
          if (event == when && is_frozen) ranks.freeze(rank, kSilence / 3);
          if (event == when && !is_frozen) {
            ranks.stop(rank);
            goes_on = ranks.now() + kSilence / 3;
          }
          if (ranks.now() < goes_on) return;
          ranks.let_go_on(rank);
          goes_on = kForever;
        }));
  }

  // It goes on when the others have given it up. What it returns is right, or an error.
  void freeze_for_long(Rank victim, std::uint64_t when) const {
    SCOPED_TRACE(scenario_.text() + ": rank " + std::to_string(victim) +
                 " is frozen for long before event " + std::to_string(when));
    SimRanks ranks = make();
    std::vector<std::uint64_t> completed(scenario_.ranks);
    TimePoint frozen{};
    EXPECT_TRUE(ranks.run(
        [&](Rank rank, Communicator& all) {
          const Checked checked = run(one_, all);
          EXPECT_EQ(checked.wrong, "");
          if (checked.outcome) completed[rank] = checked.outcome->number;
          if (rank == victim || checked.outcome) return;
          expect_named(checked.outcome.error(), victim);
          EXPECT_LE(ranks.now() - frozen, kSilence * 3 / 2);
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          frozen = ranks.now();
          ranks.freeze(victim, 3 * kSilence);
        }));
    if (frozen != TimePoint{}) go_on_without(ranks, victim, completed);
  }

 private:
  SimRanks make() const {
    return SimRanks(
        scenario_.ranks, 1,
        [this](CommunicatorOptions& options) {
          options.choices = &table_;
          options.silence = kSilence;
          options.beat = kSilence * 5 / 14;
          options.manners.deadline = 1s;  // What hangs fails, and the dead end.
          options.use_process_vm = scenario_.may_read;
        },
        false, scenario_.machines);
  }

  static void expect_named(const Error& error, Rank victim) {
    EXPECT_EQ(error.code(), Code::unavailable) << error.describe();
    EXPECT_NE(error.message().find("rank " + std::to_string(victim)), std::string::npos)
        << error.describe();
  }

  // Who has a result hears of the loss at its next call. More than half are left.
  // `completed`: the last operation that each rank has had.
  void go_on_without(SimRanks& ranks, Rank victim, std::vector<std::uint64_t> completed) const {
    completed.erase(completed.begin() + victim);
    const std::uint64_t by_all = std::ranges::min(completed);
    EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
      const auto next = all.barrier();
      EXPECT_FALSE(next);
      if (rank == victim) {  // It lives, and they have given it up.
        EXPECT_TRUE(!all.shrink(30s) || scenario_.ranks == 2);
        return;
      }
      if (!next) expect_named(next.error(), victim);
      auto left = all.shrink(30s);
      if (scenario_.ranks == 2 && !left) return;  // The other half may live as well.
      ASSERT_TRUE(left) << left.error().describe();
      EXPECT_EQ((*left)->size(), scenario_.ranks - 1);
      EXPECT_EQ((*left)->completed_before(), by_all);
      std::vector<std::int32_t> ones{1, 1};
      const auto sum = (*left)->all_reduce(ones, ones, Reduction::sum);
      EXPECT_TRUE(sum) << sum.error().describe();
      EXPECT_EQ(ones[0], static_cast<std::int32_t>(scenario_.ranks - 1));
      // Nobody leaves before all have been here.
      EXPECT_TRUE((*left)->barrier());
    }));
  }

  Scenario scenario_;
  Case one_;
  ChoiceTable table_;
};

class Kills : public ::testing::TestWithParam<Rank> {};
INSTANTIATE_TEST_SUITE_P(OfEachRank, Kills, ::testing::Values(2U, 3U, 4U),
                         [](const auto& one) { return "Of" + std::to_string(one.param); });

TEST_P(Kills, AtEachEventOfEachPlanLeaveNoWrongResultAndNobodyWaiting) {
  std::uint64_t seed = 0;
  for (const Scenario& scenario : scenarios(GetParam())) {
    const Rounds rounds(scenario);
    const std::uint64_t events = rounds.events();
    ASSERT_GT(events, 1U);
    for (const Moment& moment : moments(scenario.ranks, events, ++seed * 7)) {
      for (const bool quietly : moment.ways(4)) rounds.kill(moment.rank, moment.event, quietly);
      if (HasFailure()) return;
    }
  }
}

// Or the rank that had lent memory to one would wait for it in vain, and give up a
// sender who lives.
TEST(LargeMessages, ThatLandAfterTheirOperationHasFailedCostNoSurvivor) {
  const Rounds rounds({Operation::all_gather, Algorithm::ring, 4, kLargeCount, kLargeSegment});
  const std::uint64_t events = rounds.events();
  for (std::uint64_t when = events - 20; when < events; ++when) {
    for (Rank victim = 0; victim < 4; ++victim) rounds.kill(victim, when, false);
  }
}

TEST(LargeMessages, ThatARankHasNotTakenWhileItStoodStillCostItNothing) {
  const Rounds rounds({Operation::all_gather, Algorithm::ring, 4, kLargeCount, kLargeSegment});
  const std::uint64_t events = rounds.events();
  for (std::uint64_t when = 1; when < events; when += 7) {
    rounds.kill_while_stopped(when % 4, (when + 1) % 4, when);
    rounds.kill_while_stopped(when % 4, (when + 3) % 4, when);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(Kills, AreNotWhatAPauseIsTakenFor) {
  std::uint64_t seed = 0;
  for (const Scenario& scenario : scenarios(GetParam())) {
    const Rounds rounds(scenario);
    for (const Moment& moment : moments(scenario.ranks, rounds.events(), ++seed * 5)) {
      for (const bool is_frozen : moment.ways(2)) rounds.stop(moment.rank, moment.event, is_frozen);
      if (HasFailure()) return;
    }
  }
}

TEST_P(Kills, AreWhatALongPauseIsTakenFor) {
  std::uint64_t seed = 0;
  for (const Scenario& scenario : scenarios(GetParam())) {
    const Rounds rounds(scenario);
    for (const auto& [rank, when] :
         moments(scenario.ranks, rounds.events(), ++seed * 3, kLongMoments)) {
      rounds.freeze_for_long(rank, when);
      if (HasFailure()) return;
    }
  }
}

// One host, or two, one of which may have a rank alone.
class KillsOnMachines : public ::testing::TestWithParam<std::vector<int>> {
 protected:
  static std::vector<Scenario> scenarios() {
    const bool is_one = std::ranges::max(GetParam()) == 0;
    std::vector<Scenario> all = scenarios(is_one ? Ground::readable : Ground::hosts, true);
    std::ranges::copy(scenarios(is_one ? Ground::windows : Ground::hosts, false),
                      std::back_inserter(all));
    if (is_one) std::ranges::copy(scenarios(Ground::arena, true), std::back_inserter(all));
    return all;
  }

 private:
  static std::vector<Scenario> scenarios(Ground ground, bool may_read) {
    const bool is_one = ground != Ground::hosts;
    const Hosts hosts = is_one ? Hosts{} : Hosts(GetParam().begin(), GetParam().end());
    Scenario one;
    one.ranks = static_cast<Rank>(GetParam().size());
    one.machines = GetParam();
    one.ground = ground;
    one.may_read = may_read;
    // What fits into the slots is never asked for a plan.
    if (is_one) one.count = 3000;
    std::vector<Scenario> all;
    for (const Operation operation : kOperations) {
      const Shape shape = Shape::equal(operation, one.ranks, 0, one.count);
      one.operation = operation;
      // All others pass messages alone.
      for (const Algorithm algorithm :
           {Algorithm::direct, Algorithm::staged, Algorithm::flat, Algorithm::hierarchical}) {
        one.algorithm = algorithm;
        if (is_possible_on(ground, algorithm) && is_possible(shape, algorithm, hosts)) {
          all.push_back(one);
        }
      }
      // The counts are told first, which goes over desks where all are on one machine.
      if (operation == Operation::scatter || operation == Operation::gather ||
          operation == Operation::all_to_all) {
        all.push_back(all.back());
        all.back().is_uneven = true;
      }
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(OfEachRank, KillsOnMachines,
                         ::testing::Values(std::vector{0, 0, 0}, std::vector{0, 0, 1},
                                           std::vector{0, 1, 0, 1}, std::vector{0, 1, 1, 1}),
                         [](const auto& one) {
                           std::string text = "On";
                           for (const int machine : one.param) text += std::to_string(machine);
                           return text;
                         });

TEST_P(KillsOnMachines, AtEachEventLeaveNoWrongResultAndNobodyWaiting) {
  std::uint64_t seed = 0;
  for (const Scenario& scenario : scenarios()) {
    const Rounds rounds(scenario);
    for (const Moment& moment :
         moments(scenario.ranks, rounds.events(), ++seed * 7, kLongMoments)) {
      for (const bool quietly : moment.ways(4)) rounds.kill(moment.rank, moment.event, quietly);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KillsOnMachines, AreNotWhatAPauseIsTakenFor) {
  std::uint64_t seed = 0;
  for (const Scenario& scenario : scenarios()) {
    const Rounds rounds(scenario);
    for (const auto& [rank, when] :
         moments(scenario.ranks, rounds.events(), ++seed * 5, kLongMoments)) {
      rounds.stop(rank, when, true);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KillsOnMachines, AreWhatALongPauseIsTakenFor) {
  std::uint64_t seed = 0;
  for (const Scenario& scenario : scenarios()) {
    const Rounds rounds(scenario);
    for (const auto& [rank, when] :
         moments(scenario.ranks, rounds.events(), ++seed * 3, kLongMoments)) {
      rounds.freeze_for_long(rank, when);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::tests
