// Links between ranks that live break, one shortly after another, while all shrink.
//
// Some may be left out, or too few may reach each other; but nobody waits for its own deadline, and
// no two go on with different communicators.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSize = 5;
constexpr int kBreaks = 4;
constexpr Duration kDeadline = 60s;
// Three times what silence may last: whoever leads may have to give up.
constexpr Duration kSoon = 12s;

#ifdef MUSTER_ALL_MOMENTS
constexpr std::uint64_t kSeeds = 4000;
#else
constexpr std::uint64_t kSeeds = 100;
#endif

class BrokenLinks {
 public:
  BrokenLinks(std::uint64_t seed, bool is_elastic)
      : ranks_(kSize, seed,
               [&](auto& options) {
                 options.manners.elastic = is_elastic;
                 options.manners.deadline = kDeadline;
                 // Each on a host of its own: of a loss no more is ever known.
                 options.process = {.host = 1 + options.rank, .pid = 1};
               }),
        made_(kSize),
        sums_(kSize) {}
  ~BrokenLinks() {
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator&) { made_[rank].reset(); }));
  }
  BrokenLinks(const BrokenLinks&) = delete;
  BrokenLinks& operator=(const BrokenLinks&) = delete;

  void shrink_while_they_break() {
    std::uint64_t next = ranks_.net().chance() % 60;
    int left = kBreaks;
    const TimePoint begun = ranks_.now();
    EXPECT_TRUE(ranks_.run(
        [&](Rank rank, Communicator& all) {
          auto made = all.shrink(kDeadline);
          EXPECT_LE(ranks_.now() - begun, kSoon)
              << "rank " << rank << (made ? "" : ": " + made.error().describe());
          if (!made) return;
          made_[rank] = *std::move(made);
          std::vector<std::int32_t> mine(1, 1 << rank);
          if (made_[rank]->all_reduce(mine, mine, Reduction::sum)) sums_[rank] = mine[0];
        },
        [&](std::uint64_t event) {
          if (event != next || left-- == 0) return;
          next += 1 + ranks_.net().chance() % 12;
          break_one();
        }));
  }

  void expect_that_none_differ() const {
    std::optional<Rank> size;
    std::optional<std::int32_t> sum;
    for (Rank rank = 0; rank < kSize; ++rank) {
      if (made_[rank] != nullptr) {
        EXPECT_EQ(made_[rank]->size(), size.value_or(made_[rank]->size())) << rank;
        size = made_[rank]->size();
      }
      if (!sums_[rank]) continue;
      EXPECT_EQ(*sums_[rank], sum.value_or(*sums_[rank])) << rank;
      sum = sums_[rank];
    }
  }

 private:
  void break_one() {
    const auto one = static_cast<Rank>(ranks_.net().chance() % kSize);
    const auto other = static_cast<Rank>((one + 1 + ranks_.net().chance() % (kSize - 1)) % kSize);
    ranks_.net().break_connections(ranks_.host(one), ranks_.host(other));
  }

  SimRanks ranks_;
  std::vector<std::unique_ptr<Communicator>> made_;  // Not closed before the end: that is heard.
  std::vector<std::optional<std::int32_t>> sums_;
};

TEST(BrokenLinksBetweenTheLiving, MakeNobodyWaitForLongNorHaveAnother) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const bool is_elastic : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (is_elastic ? ", elastic" : ""));
      BrokenLinks broken(seed, is_elastic);
      broken.shrink_while_they_break();
      broken.expect_that_none_differ();
    }
  }
}

}  // namespace
}  // namespace muster::tests
