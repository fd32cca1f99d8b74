// grow() where one member knows less than the others, or has less time.
//
// All end soon, and alike: those who get the new communicator lose there who died, and the old one
// goes on where nobody has got it. But for one of them nobody has a deadline to speak of.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "tests/collectives/discreet.h"
#include "tests/collectives/sim_ranks.h"

namespace muster::tests {
namespace {

using net::testing::Dials;
using namespace std::chrono_literals;

constexpr Rank kSize = 3;
constexpr std::uint64_t kNever = UINT64_MAX;
constexpr Duration kForGood = 30min;

using Made = std::unique_ptr<Communicator>;

class Unheard {
 public:
  // Cut off: nor can it be brought together with the newcomer.
  Unheard(bool is_elastic, Rank deaf, std::optional<net::testing::Dials> cut_off = std::nullopt)
      : is_elastic_(is_elastic),
        is_cut_off_(cut_off.has_value()),
        ranks_(kSize, 1,
               [this, deaf](CommunicatorOptions& options) {
                 options.manners.elastic = is_elastic_;
                 options.manners.deadline = kForGood;
                 if (options.rank != deaf) return;
                 discreet_.emplace(*options.registry, std::vector{Id{1, kSize + 1}});
                 options.registry = &*discreet_;
               }),
        made_(kSize) {
    ranks_.add_newcomer([this] { come(); });
    if (cut_off) ranks_.net().part(ranks_.host(deaf), ranks_.host(kSize), *cut_off);
  }
  ~Unheard() {
    is_over_ = true;
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator&) { made_[rank].reset(); }));
  }
  Unheard(const Unheard&) = delete;
  Unheard& operator=(const Unheard&) = delete;

  // True if there was such an event, before rank 0 has no more time: what is made at just that
  // moment it may miss.
  bool kill_newcomer(std::uint64_t when) {
    const TimePoint begun = ranks_.now();
    std::optional<TimePoint> killed;
    EXPECT_TRUE(ranks_.run(
        [&](Rank rank, Communicator& all) {
          // Rank 0 tells the others when nobody has come.
          Result<Made> made = all.grow(kSize + 1, rank == 0 ? msg::Wait(3s) : msg::Wait());
          const Duration took = ranks_.now() - (made && killed ? *killed : begun);
          EXPECT_LE(took, made ? 1s : 7s) << "rank " << rank;
          if (made) {
            made_[rank] = *std::move(made);
          } else if (killed) {
            const std::string why = made.error().message();
            EXPECT_NE(why.find("grow: rank 3 did not come"), std::string::npos) << why;
          }
        },
        [&](std::uint64_t event) {
          if (event != when || ranks_.now() >= begun + 2900ms) return;
          killed = ranks_.now();
          ranks_.kill(kSize);
        }));
    return killed.has_value();
  }

  void expect_all_or_none_have_it() {
    for (Rank rank = 1; rank < kSize; ++rank) {
      EXPECT_EQ(made_[rank] == nullptr, made_[0] == nullptr) << rank;
    }
  }

  void go_on() {
    EXPECT_TRUE(ranks_.run([&](Rank rank, Communicator& all) {
      if (made_[rank] == nullptr) {
        const auto met = all.barrier();
        EXPECT_TRUE(met) << met.error().describe();
        return;
      }
      const auto met = made_[rank]->barrier();
      EXPECT_EQ(met.has_value(), is_elastic_);
      if (met) return;
      auto left = made_[rank]->shrink(10s);
      ASSERT_TRUE(left) << left.error().describe();
      EXPECT_EQ((*left)->size(), kSize);
      EXPECT_TRUE((*left)->barrier());
    }));
  }

 private:
  void come() {
    if (has_come_ || is_over_) return;
    has_come_ = true;
    const auto joined = ranks_.join(
        kSize, 4s, [this](CommunicatorOptions& options) { options.manners.elastic = is_elastic_; });
    EXPECT_FALSE(joined && ranks_.is_alive(kSize) && is_cut_off_);
  }

  const bool is_elastic_;
  const bool is_cut_off_;
  std::optional<Discreet> discreet_;
  SimRanks ranks_;
  std::vector<Made> made_;
  bool has_come_ = false;
  bool is_over_ = false;
};

class ANewcomer : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Of, ANewcomer, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Elastic" : "Strict"; });

TEST_P(ANewcomer, OfWhomOneMemberNeverHearsIsNotWaitedForOnceItIsGone) {
  for (Rank deaf = 1; deaf < kSize; ++deaf) {
    for (const Dials dials : {Dials::hang, Dials::fail}) {
      SCOPED_TRACE("it gives up, and rank " + std::to_string(deaf) + " cannot reach it" +
                   (dials == Dials::fail ? ", as it hears at once" : ""));
      Unheard lives(GetParam(), deaf, dials);
      ASSERT_FALSE(lives.kill_newcomer(kNever));
      lives.expect_all_or_none_have_it();
      lives.go_on();
    }
    const std::optional<Dials> ways[] = {std::nullopt, Dials::hang, Dials::fail};
    for (const std::optional<Dials> cut_off : ways) {
      for (std::uint64_t when = 0; !HasFailure(); ++when) {
        SCOPED_TRACE("before event " + std::to_string(when) + ", of which rank " +
                     std::to_string(deaf) + " does not hear" + (cut_off ? ", cut off" : ""));
        Unheard unheard(GetParam(), deaf, cut_off);
        if (!unheard.kill_newcomer(when)) break;
        unheard.expect_all_or_none_have_it();
        unheard.go_on();
      }
    }
  }
}

SimRanks::Tweak patient(bool is_elastic) {
  return [is_elastic](CommunicatorOptions& options) {
    options.manners.elastic = is_elastic;
    options.manners.deadline = kForGood;
  };
}

// Nobody comes.
TEST_P(ANewcomer, IsWaitedForByAllAsLongAsTheOneWithTheLeastTimeMay) {
  for (Rank hasty = 0; hasty < kSize; ++hasty) {
    SCOPED_TRACE(hasty);
    SimRanks ranks(kSize, 1, patient(GetParam()));
    const TimePoint begun = ranks.now();
    EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
      const auto grown = all.grow(kSize + 2, rank == hasty ? msg::Wait(2s) : msg::Wait());
      EXPECT_LE(ranks.now() - begun, 3s) << "rank " << rank;
      ASSERT_FALSE(grown);
      EXPECT_EQ(grown.error().code(), Code::timeout) << grown.error().describe();
      EXPECT_NE(grown.error().message().find("ranks 3, 4"), std::string::npos)
          << grown.error().describe();
      const auto met = all.barrier();
      EXPECT_TRUE(met) << met.error().describe();
    }));
  }
}

// One of the members does something else.
TEST_P(ANewcomer, IsNotAskedForWhereAMemberDoesNotComeInTime) {
  for (Rank hasty = 0; hasty < kSize - 1; ++hasty) {
    SCOPED_TRACE(hasty);
    SimRanks ranks(kSize, 1, patient(GetParam()));
    const TimePoint begun = ranks.now();
    EXPECT_TRUE(ranks.run([&](Rank rank, Communicator& all) {
      if (rank == kSize - 1) return;
      const auto grown = all.grow(kSize + 1, rank == hasty ? msg::Wait(2s) : msg::Wait());
      EXPECT_LE(ranks.now() - begun, 3s) << "rank " << rank;
      ASSERT_FALSE(grown);
      const std::string why = grown.error().describe();
      if (rank != hasty) return;
      EXPECT_EQ(grown.error().code(), Code::timeout) << why;
      EXPECT_NE(why.find("rank 2 did not come"), std::string::npos) << why;
    }));
    EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
      auto again = all.shrink(10s);
      ASSERT_TRUE(again) << again.error().describe();
      EXPECT_EQ((*again)->size(), kSize);
      EXPECT_TRUE((*again)->barrier());
    }));
  }
}

// Rank 2 does something else, and rank 0 is to stop at some time.
void expect_all_end_when_one_is_to_stop(bool is_elastic, const msg::Wait& wait,
                                        const std::function<void(SimRanks&)>& after_a_second) {
  SimRanks ranks(kSize, 1, patient(is_elastic));
  const TimePoint begun = ranks.now();
  bool has_acted = false;
  EXPECT_TRUE(ranks.run(
      [&](Rank rank, Communicator& all) {
        if (rank == kSize - 1) return;
        const auto grown = all.grow(kSize + 1, rank == 0 ? wait : msg::Wait());
        EXPECT_LE(ranks.now() - begun, 10s) << "rank " << rank;
        ASSERT_FALSE(grown);
        if (rank != 0 || !ranks.is_alive(kSize - 1)) return;
        EXPECT_EQ(grown.error().code(), Code::cancelled) << grown.error().describe();
      },
      [&](std::uint64_t) {
        if (ranks.now() < begun + 1s || std::exchange(has_acted, true)) return;
        after_a_second(ranks);
      }));
}

TEST_P(ANewcomer, IsNotAskedForOnceTheCallerIsToStopWhileMembersAreWaitedFor) {
  // On the heap: g++ 12 else takes it for uninitialized.
  const auto stop = std::make_unique<std::stop_source>();
  expect_all_end_when_one_is_to_stop(GetParam(), msg::Wait(stop->get_token()),
                                     [&](SimRanks&) { stop->request_stop(); });
}

// Who is asked says so once.
TEST_P(ANewcomer, IsNotAskedForOnceTheCallerSaysThatItIsToStop) {
  static bool is_to_stop;
  is_to_stop = false;
  const auto ask = [] { return std::exchange(is_to_stop, false); };
  expect_all_end_when_one_is_to_stop(GetParam(), msg::Wait().asking(ask),
                                     [&](SimRanks&) { is_to_stop = true; });
}

TEST_P(ANewcomer, IsNotAskedForWhereAMemberIsLostJustWhenTheCallerIsToStop) {
  const auto stop = std::make_unique<std::stop_source>();
  expect_all_end_when_one_is_to_stop(GetParam(), msg::Wait(stop->get_token()),
                                     [&](SimRanks& ranks) {
                                       ranks.kill(kSize - 1);
                                       stop->request_stop();
                                     });
}

// Who does not wait looks all the same, and members need not come at one moment.
TEST_P(ANewcomer, IsLookedForByWhoDoesNotWait) {
  SimRanks ranks(kSize, 1, patient(GetParam()));
  ranks.freeze(kSize - 1, 400ms);
  EXPECT_TRUE(ranks.run([&](Rank, Communicator& all) {
    const auto grown = all.grow(kSize + 1, msg::Wait(0s));
    ASSERT_FALSE(grown);
    const std::string why = grown.error().describe();
    EXPECT_EQ(grown.error().code(), Code::timeout) << why;
    EXPECT_NE(why.find("grow: rank 3 did not come"), std::string::npos) << why;
    const auto met = all.barrier();
    EXPECT_TRUE(met) << met.error().describe();
  }));
}

}  // namespace
}  // namespace muster::tests
