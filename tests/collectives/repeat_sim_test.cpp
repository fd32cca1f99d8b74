// A sum in whose middle a rank dies, done again by those who are left.
//
// Under virtual time, as in kill_sim_test.cpp. Numbers are summed where they lie, so that what was
// interrupted may have been written half; those who have had the sum call it again with what they
// had brought.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

#ifdef MUSTER_ALL_MOMENTS
constexpr bool kAllMoments = true;
#else
constexpr bool kAllMoments = false;
#endif

struct Setting {
  std::string name;
  Rank ranks;
  std::size_t count;
  std::vector<int> machines = {};
  bool may_read = true;  // Ranks of one machine read each other's private memory.

  bool is_one_machine() const { return !machines.empty() && std::ranges::max(machines) == 0; }
  // Of all events, those where it happens in each run.
  std::uint64_t step() const {
    if (kAllMoments) return 1;
    if (is_one_machine()) return 3;  // There ranks seldom wait.
    return machines.empty() ? 7 : 23;
  }
};

using Numbers = std::vector<std::int32_t>;

// Every contribution is a power of two, so that a sum tells whose are in.
Numbers contribution(const Setting& setting, Rank rank) {
  return Numbers(setting.count, 1 << rank);
}

class Interruption {
 public:
  explicit Interruption(const Setting& setting)
      : setting_(setting),
        ranks_(
            setting.ranks, 1,
            [&](CommunicatorOptions& options) {
              options.manners.keep_input = true;
              options.manners.deadline = 1s;  // What hangs fails, and the dead end.
              options.use_process_vm = setting.may_read;
            },
            false, setting.machines),
        numbers_(setting.ranks),
        is_interrupted_(setting.ranks) {}

  // False if there was no such event.
  bool kill(Rank victim, std::uint64_t when) {
    const Numbers whole(setting_.count, (1 << setting_.ranks) - 1);
    bool has_died = false;
    EXPECT_TRUE(ranks_.run(
        [&](Rank rank, Communicator& all) {
          numbers_[rank] = contribution(setting_, rank);
          const auto done = all.all_reduce(numbers_[rank], numbers_[rank], Reduction::sum);
          is_interrupted_[rank] = !done;
          if (!ranks_.is_alive(rank) || !done) return;
          EXPECT_EQ(numbers_[rank], whole);
        },
        [&](std::uint64_t event) {
          if (event != when) return;
          has_died = true;
          ranks_.kill(victim);
        }));
    return has_died;
  }

  // True if all had to.
  bool do_again_without(Rank victim) {
    const Numbers rest(setting_.count, ((1 << setting_.ranks) - 1) ^ (1 << victim));
    bool is_again_on_all = true;
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) {
      const bool was_interrupted = is_interrupted_[rank];
      // Who has the sum hears of the loss at its next call.
      if (!was_interrupted) {
        EXPECT_FALSE(all.barrier());
      }
      auto left = all.shrink(30s);
      ASSERT_TRUE(left) << left.error().describe();
      EXPECT_EQ((*left)->completed_before(), is_interrupted_on_some(victim) ? 0U : 1U);
      is_again_on_all = is_again_on_all && was_interrupted;
      if ((*left)->completed_before() == 0) {
        const auto done = was_interrupted ? (*left)->repeat() : call_again(rank, **left);
        ASSERT_TRUE(done) << "rank " << rank << ": " << done.error().describe();
        EXPECT_EQ(numbers_[rank], rest) << "rank " << rank;
      }
      EXPECT_TRUE((*left)->barrier());
    }));
    return is_again_on_all;
  }

  bool is_interrupted_on_some(Rank victim) const {
    for (Rank rank = 0; rank < setting_.ranks; ++rank) {
      if (rank != victim && is_interrupted_[rank]) return true;
    }
    return false;
  }

 private:
  Result<Outcome> call_again(Rank rank, Communicator& left) {
    numbers_[rank] = contribution(setting_, rank);
    return left.all_reduce(numbers_[rank], numbers_[rank], Reduction::sum);
  }

  const Setting setting_;
  SimRanks ranks_;
  std::vector<Numbers> numbers_;
  std::vector<bool> is_interrupted_;
};

class Interrupted : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(
    On, Interrupted,
    ::testing::Values(Setting{"ThreeMachines", 3, 3}, Setting{"FourMachinesMuch", 4, 70000},
                      Setting{"OneMachine", 3, 9000, {0, 0, 0}},
                      Setting{"OneMachineWithoutProcessVm", 4, 9000, {0, 0, 0, 0}, false},
                      Setting{"TwoMachines", 4, 3000, {0, 1, 0, 1}}),
    [](const auto& one) { return one.param.name; });

TEST_P(Interrupted, ByADeathInItsMiddleASumIsRepeatedOverThoseWhoAreLeft) {
  bool was_repeated_by_all = false;
  bool was_repeated_by_some = false;
  for (Rank victim = 0; victim < GetParam().ranks; ++victim) {
    for (std::uint64_t when = victim % GetParam().step();; when += GetParam().step()) {
      SCOPED_TRACE("rank " + std::to_string(victim) + " dies before event " + std::to_string(when));
      Interruption sum(GetParam());
      if (!sum.kill(victim, when)) break;
      const bool is_repeated = sum.is_interrupted_on_some(victim);
      const bool is_by_all = sum.do_again_without(victim);
      was_repeated_by_all = was_repeated_by_all || is_by_all;
      was_repeated_by_some = was_repeated_by_some || (is_repeated && !is_by_all);
      if (HasFailure()) return;
    }
  }
  EXPECT_TRUE(was_repeated_by_all);
  // What one has had there, the others can read as well.
  EXPECT_NE(was_repeated_by_some, GetParam().is_one_machine());
}

}  // namespace
}  // namespace muster::tests
