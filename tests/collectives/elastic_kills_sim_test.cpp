// Elastic operations of which one rank dies, or stands still, before each event: where all are
// apart, and where some share the memory of a machine.
//
// Under virtual time, as in kill_sim_test.cpp. No two ranks have another number, other contributors
// or another sum of the same operation: no survivor, nor who was taken for lost and lives, nor who
// has returned before it died.

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

// Time goes slowly where ranks look at each other's desks: it takes little of it until silence
// is loss.
constexpr Duration kSilence = 30ms;

// Through the slots, by a plan, and once more by who knows of the loss.
constexpr std::size_t kCounts[] = {3, 3000, 3};

struct Setting {
  std::string name;
  Rank ranks;
  std::vector<int> machines = {};
  bool may_read = true;     // Ranks of one machine read each other's private memory.
  std::uint64_t step = 11;  // Of all events, those where it happens in each run.
};

#ifdef MUSTER_ALL_MOMENTS
constexpr bool kAllMoments = true;
#else
constexpr bool kAllMoments = false;
#endif

enum class Fate : std::uint8_t { death, quiet_death, long_pause };

std::string_view name(Fate fate) {
  switch (fate) {
    case Fate::death: return "dies";
    case Fate::quiet_death: return "dies quietly";
    case Fate::long_pause: return "is frozen for long";
  }
  return "";
}

// What an operation has come to on a rank.
struct Had {
  std::uint64_t number;
  std::vector<Rank> contributors;
  std::int32_t sum;
  bool operator==(const Had&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Had& had) {
  out << had.number << " of";
  for (const Rank rank : had.contributors) out << " " << rank;
  return out << ": " << had.sum;
}

class Walk {
 public:
  Walk(const Setting& setting, Rank victim, Fate fate)
      : victim_(victim),
        fate_(fate),
        ranks_(
            setting.ranks, 1,
            [&](CommunicatorOptions& options) {
              options.manners.elastic = true;
              options.manners.deadline = 1s;  // What hangs fails, and the dead end.
              options.silence = kSilence;
              options.beat = kSilence * 5 / 14;
              options.use_process_vm = setting.may_read;
            },
            false, setting.machines),
        had_(setting.ranks) {}

  // False if there was no such event.
  bool happens_before(std::uint64_t when) {
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) { add(rank, all); },
                           [&](std::uint64_t event) {
                             if (event == when) strike();
                           }));
    return struck_ != TimePoint{};
  }

  void expect_same_of_each_operation() const {
    const Rank survivor = (victim_ + 1) % ranks_.size();
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
      const std::vector<Had>& one = had_[rank];
      if (rank != victim_) {
        EXPECT_EQ(one.size(), std::size(kCounts)) << "rank " << rank;
      }
      for (std::size_t i = 0; i < std::min(one.size(), had_[survivor].size()); ++i) {
        EXPECT_EQ(one[i], had_[survivor][i]) << "ranks " << rank << " and " << survivor;
      }
    }
  }

 private:
  void strike() {
    struck_ = ranks_.now();
    if (fate_ == Fate::long_pause) return ranks_.freeze(victim_, 3 * kSilence);
    ranks_.kill(victim_, fate_ == Fate::quiet_death);
  }

  // Every contribution is a power of two, so that a sum tells whose are in.
  void add(Rank rank, Communicator& all) {
    for (const std::size_t count : kCounts) {
      std::vector<std::int32_t> mine(count, 1 << rank);
      const auto done = all.all_reduce(mine, mine, Reduction::sum);
      if (!ranks_.is_alive(rank)) return;
      if (!done && rank == victim_ && struck_ != TimePoint{}) {  // It has been given up.
        EXPECT_EQ(done.error().code(), Code::unavailable) << done.error().describe();
        return;
      }
      ASSERT_TRUE(done) << "rank " << rank << ": " << done.error().describe();
      std::int32_t sum = 0;
      for (const Rank one : *done->contributors) sum += 1 << one;
      EXPECT_EQ(mine, std::vector<std::int32_t>(count, sum));
      had_[rank].push_back({done->number, *done->contributors, mine[0]});
      EXPECT_EQ(done->number, had_[rank].size());
      expect_survivors_in(sum);
    }
    if (rank == victim_ || struck_ == TimePoint{}) return;
    EXPECT_LE(ranks_.now() - struck_, fate_ == Fate::death ? 50ms : kSilence * 2);
  }

  // All, or all but who was struck.
  void expect_survivors_in(std::int32_t sum) const {
    const std::int32_t whole = (1 << ranks_.size()) - 1;
    const bool may_miss = struck_ != TimePoint{};
    EXPECT_TRUE(sum == whole || (may_miss && sum == whole - (1 << victim_))) << sum;
  }

  const Rank victim_;
  const Fate fate_;
  SimRanks ranks_;
  TimePoint struck_{};
  std::vector<std::vector<Had>> had_;
};

class ElasticKills : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(
    On, ElasticKills,
    ::testing::Values(Setting{.name = "ThreeMachines", .ranks = 3},
                      Setting{.name = "FourMachines", .ranks = 4},
                      Setting{"OneMachine", 3, {0, 0, 0}, true, 4},
                      Setting{"OneMachineWithoutProcessVm", 4, {0, 0, 0, 0}, false, 7},
                      Setting{"TwoMachines", 4, {0, 1, 0, 1}, true, 151},
                      Setting{"TwoMachinesWithALoner", 4, {0, 1, 1, 1}, false, 83}),
    [](const auto& one) { return one.param.name; });

TEST_P(ElasticKills, GiveNoTwoRanksAnotherResultOfOneOperation) {
  const std::uint64_t step = kAllMoments ? 1 : GetParam().step;
  for (Rank victim = 0; victim < GetParam().ranks; ++victim) {
    for (const Fate fate : {Fate::death, Fate::quiet_death, Fate::long_pause}) {
      for (std::uint64_t when = (victim + 3 * static_cast<std::uint64_t>(fate)) % step;;
           when += step) {
        SCOPED_TRACE("rank " + std::to_string(victim) + " " + std::string(name(fate)) +
                     " before event " + std::to_string(when));
        Walk walk(GetParam(), victim, fate);
        const bool is_over = !walk.happens_before(when);
        walk.expect_same_of_each_operation();
        if (HasFailure()) return;
        if (is_over) break;
      }
    }
  }
}

}  // namespace
}  // namespace muster::tests
