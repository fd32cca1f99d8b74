// Elastic operations whose root dies, or of which two die one after the other: where all are apart,
// and where some share the memory of a machine.
//
// Under virtual time, as in kill_sim_test.cpp. Whatever becomes of an operation
// becomes of it on all who are left.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 5;  // Of whom three are the most, whoever dies.
constexpr Rank kRoot = 1;
constexpr int kRounds = 3;

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kStep = 1;
constexpr std::uint64_t kPlaysOnMachines = 300;  // Of each deed: they take longer.
#else
constexpr std::uint64_t kStep = 17;
constexpr std::uint64_t kPlaysOnMachines = 5;
#endif

// One round of a rank; what came of it, the same on all who are left.
struct Deed {
  std::string name;
  std::function<std::string(Communicator&, int)> call;
};

std::string text_of(const std::vector<Rank>& ranks) {
  std::string text;
  for (const Rank rank : ranks) text += std::to_string(rank) + " ";
  return text;
}

// Every contribution is a power of two, so that a sum tells whose are in.
std::string sum_or_error(const Result<Outcome>& done, const std::vector<std::int32_t>& sum,
                         bool gets) {
  if (!done) return done.error().message().find("the root") != std::string::npos ? "no root" : "";
  std::int32_t expected = 0;
  for (const Rank rank : *done->contributors) expected += 1 << rank;
  if (gets) {
    EXPECT_EQ(sum, std::vector<std::int32_t>(sum.size(), expected));
  }
  return text_of(*done->contributors);
}

std::vector<Rank> contributors(const Result<Outcome>& done) {
  return done ? *done->contributors : std::vector<Rank>();
}

// What `from` has for `to`.
std::int32_t number(Rank from, Rank to, int round) {
  return static_cast<std::int32_t>(100 * round + 10 * from + to);
}

std::vector<Deed> deeds() {
  return {{"Sum",
           [](Communicator& all, int) {
             std::vector<std::int32_t> mine(3, 1 << all.rank());
             const auto done = all.all_reduce(mine, mine, Reduction::sum);
             return sum_or_error(done, mine, true);
           }},
          {"SumAtARoot",
           [](Communicator& all, int) {
             std::vector<std::int32_t> mine(3, 1 << all.rank());
             const bool gets = all.rank() == kRoot;
             const auto done =
                 all.reduce(mine, gets ? Output(mine) : Output(), Reduction::sum, kRoot);
             return sum_or_error(done, mine, gets);
           }},
          {"Broadcast",
           [](Communicator& all, int round) {
             std::vector<std::int32_t> data(3, all.rank() == kRoot ? round + 7 : -1);
             const auto done = all.broadcast(data, kRoot);
             if (done) {
               EXPECT_EQ(data, std::vector<std::int32_t>(3, round + 7));
             }
             return sum_or_error(done, data, false);
           }},
          {"Mean",
           [](Communicator& all, int) {
             std::vector<double> mine(3, 1 << all.rank());
             const auto done = all.all_reduce(mine, mine, Reduction::mean);
             double sum = 0;
             for (const Rank rank : contributors(done)) sum += 1 << rank;
             if (done) {
               EXPECT_EQ(mine[2], sum / static_cast<double>(done->contributors->size()));
             }
             return sum_or_error(done, {}, false);
           }},
          {"AllGather",
           [](Communicator& all, int round) {
             const std::vector<std::int32_t> mine{number(all.rank(), 0, round)};
             std::vector<std::int32_t> whole(kSize);
             const auto done = all.all_gather(mine, whole);
             for (const Rank rank : contributors(done)) {
               EXPECT_EQ(whole[rank], number(rank, 0, round));
             }
             return sum_or_error(done, {}, false);
           }},
          {"ScatterWithCounts",
           [](Communicator& all, int round) {
             const std::vector<std::uint64_t> counts(kSize, 1);
             std::vector<std::int32_t> whole;
             for (Rank to = 0; to < kSize; ++to) whole.push_back(number(kRoot, to, round));
             std::vector<std::int32_t> mine(1);
             const bool gives = all.rank() == kRoot;
             const auto done = all.scatter_v(gives ? Input(whole) : Input(), counts, mine, kRoot);
             if (done) {
               EXPECT_EQ(mine[0], number(kRoot, all.rank(), round));
             }
             return sum_or_error(done, {}, false);
           }},
          {"ReduceScatter",
           [](Communicator& all, int) {
             std::vector<std::int32_t> whole(kSize, 1 << all.rank());
             std::vector<std::int32_t> mine(1);
             const auto done = all.reduce_scatter(whole, mine, Reduction::sum);
             return sum_or_error(done, mine, true);
           }},
          {"AllToAll", [](Communicator& all, int round) {
             std::vector<std::int32_t> sent;
             for (Rank to = 0; to < kSize; ++to) sent.push_back(number(all.rank(), to, round));
             std::vector<std::int32_t> came(kSize);
             const auto done = all.all_to_all(sent, came);
             for (const Rank from : contributors(done)) {
               EXPECT_EQ(came[from], number(from, all.rank(), round));
             }
             return sum_or_error(done, {}, false);
           }}};
}

// The error is the same on all who are left, if the root is lost.
template <class T>
std::string made_or_error(const Result<T>& made) {
  if (made) return "made";
  const bool is_rootless = made.error().message().starts_with("rank 1 (");
  return is_rootless ? "no root" : "";
}

std::string share(Communicator& all, int round) {
  const std::string text = "of round " + std::to_string(round);
  const auto shared = all.share(all.rank() == kRoot ? Buffer::copy_of(text) : Buffer(), kRoot);
  if (shared) {
    EXPECT_EQ(shared->text(), text);
  }
  return made_or_error(shared);
}

std::string share_of_all(Communicator& all, int round) {
  const auto text = [&](Rank of) { return std::to_string(number(of, 0, round)); };
  const auto shared = all.all_share(Buffer::copy_of(text(all.rank())));
  std::string whose = made_or_error(shared);
  for (Rank from = 0; shared && from < kSize; ++from) {
    if ((*shared)[from].empty()) continue;
    EXPECT_EQ((*shared)[from].text(), text(from));
    whose += " " + std::to_string(from);
  }
  return whose;
}

// A part that has lost the most of its ranks ends with that.
std::string split(Communicator& all, int) {
  const auto part = all.split(static_cast<int>(all.rank() % 2), 0);
  if (!part) return "";
  std::vector<std::int32_t> mine(3, 1);
  const auto done = (*part)->all_reduce(mine, mine, Reduction::sum);
  if (!done) return done.error().code() == Code::unavailable ? "made" : "";
  EXPECT_EQ(mine[2], static_cast<std::int32_t>(done->contributors->size()));
  return "made";
}

std::vector<Deed> all_deeds() {
  std::vector<Deed> all = deeds();
  all.push_back({"Share", share});
  all.push_back({"ShareOfAll", share_of_all});
  all.push_back({"Split", split});
  return all;
}

using Machines = std::vector<int>;

// `first` dies before event `when`, and `second` so many events later.
bool play(const Deed& deed, const Machines& machines, Rank first, Rank second, std::uint64_t when,
          std::uint64_t later) {
  SimRanks ranks(
      kSize, 1,
      [&](CommunicatorOptions& options) {
        options.manners.elastic = true;
        // The dead end by it, and look at desks until then.
        if (!machines.empty()) options.manners.deadline = 1s;
      },
      false, machines);
  std::vector<std::vector<std::string>> outcomes(kSize);
  bool has_died = false;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        for (int round = 0; round < kRounds; ++round) {
          const std::string outcome = deed.call(all, round);
          if (!ranks.is_alive(rank)) return;
          EXPECT_NE(outcome, "") << "rank " << rank << " has another error";
          outcomes[rank].push_back(outcome);
        }
      },
      [&](std::uint64_t event) {
        has_died = has_died || event == when;
        if (event == when) ranks.kill(first);
        if (event == when + later && second != first) ranks.kill(second);
      }));
  std::optional<Rank> other;
  for (Rank rank = 0; rank < kSize; ++rank) {
    if (!ranks.is_alive(rank)) continue;
    if (!other) other = rank;
    EXPECT_EQ(outcomes[rank], outcomes[*other]) << "ranks " << rank << " and " << *other;
  }
  return has_died;
}

bool play_as_told(const Deed& deed, const Machines& machines, Rank first, Rank second,
                  std::uint64_t when, std::uint64_t later) {
  SCOPED_TRACE(std::to_string(first) + " dies before event " + std::to_string(when) + ", " +
               std::to_string(second) + " after " + std::to_string(later) + " more");
  return play(deed, machines, first, second, when, later);
}

constexpr std::uint64_t kLater[] = {1, 12, 40};

class ElasticDeaths : public ::testing::TestWithParam<Deed> {
 protected:
  // Spread over all moments, all who may die first, and how much later the second does.
  static void play_on(const Machines& machines) {
    constexpr std::uint64_t kWays = kSize * std::size(kLater);
    const std::uint64_t all = events_on(machines) * kWays;
    const std::uint64_t stride = std::max<std::uint64_t>(all / kPlaysOnMachines, 1);
    for (std::uint64_t i = stride / 2; i < all; i += stride) {
      const std::uint64_t when = i / kWays;
      const auto first = static_cast<Rank>(i % kSize);
      const auto second = static_cast<Rank>((first + when) % kSize);
      play_as_told(GetParam(), machines, first, second, when, kLater[i % std::size(kLater)]);
      if (HasFailure()) return;
    }
  }

 private:
  // If nobody dies.
  static std::uint64_t events_on(const Machines& machines) {
    SimRanks ranks(
        kSize, 1, [](auto& options) { options.manners.elastic = true; }, false, machines);
    std::uint64_t events = 0;
    EXPECT_TRUE(ranks.run(
        [&](Rank, Communicator& all) {
          for (int round = 0; round < kRounds; ++round) GetParam().call(all, round);
        },
        [&](std::uint64_t event) { events = event + 1; }));
    return events;
  }
};
INSTANTIATE_TEST_SUITE_P(In, ElasticDeaths, ::testing::ValuesIn(all_deeds()),
                         [](const auto& one) { return one.param.name; });

TEST_P(ElasticDeaths, HaveAllWhoAreLeftComeToTheSameEnd) {
  for (std::uint64_t when = 0, is_over = 0; is_over == 0; when += kStep) {
    for (Rank first = 0; first < kSize; ++first) {
      const auto second = static_cast<Rank>((first + when / kStep) % kSize);
      for (const std::uint64_t later : kLater) {
        if (!play_as_told(GetParam(), {}, first, second, when, later)) is_over = 1;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ElasticDeaths, HaveThemComeToItOnOneMachineToo) { play_on({0, 0, 0, 0, 0}); }

TEST_P(ElasticDeaths, HaveThemComeToItOnTwoMachinesToo) { play_on({0, 1, 0, 1, 1}); }

}  // namespace
}  // namespace muster::tests
