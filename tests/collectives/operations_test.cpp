// Every operation, type, reduction and form against a naive oracle, over each way.
//
// Which combinations meet is drawn by a seed, the same on all ranks, so that all
// pairs of choices are met in each run.

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "muster/collectives/shape.h"
#include "tests/collectives/local_ranks.h"
#include "tests/collectives/oracle.h"

namespace muster::tests {
namespace {

using Kind = Reduction::Kind;

// Around the sizes at which something changes: a line, a slot, a copy, a window.
constexpr std::uint64_t kCounts[] = {0, 1, 2, 3, 9, 33, 511, 1025, 2041, 4097, 9000, 70000};

Reduction reduction_of(Kind kind, Element element) {
  if (kind != Kind::user) return kind;
  return Reduction::user(
      [element](const void* left, const void* right, void* to, std::size_t count) {
        // Adds, by way of bytes: good for all types whose sums stay below 256.
        const std::size_t size = size_of(element);
        for (std::size_t i = 0; i < count; ++i) {
          if (element == Element::f64) {
            static_cast<double*>(to)[i] =
                static_cast<const double*>(left)[i] + static_cast<const double*>(right)[i];
          } else if (element == Element::f32) {
            static_cast<float*>(to)[i] =
                static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
          } else {
            const auto* const l = static_cast<const std::uint8_t*>(left) + i * size;
            const auto* const r = static_cast<const std::uint8_t*>(right) + i * size;
            auto* const out = static_cast<std::uint8_t*>(to) + i * size;
            for (std::size_t byte = 0; byte < size; ++byte) {
              out[byte] = static_cast<std::uint8_t>(l[byte] + r[byte]);
            }
          }
        }
      },
      Reduction::Order::of_ranks);
}

struct Case {
  Operation operation;
  Element element;
  Kind kind;
  Rank root;
  bool is_uneven;
  bool is_in_place;
  bool is_future;
  std::vector<std::uint64_t> counts;  // Of each rank's block.
};

Case draw(std::minstd_rand& random, Rank ranks) {
  Case made;
  made.operation = collectives::kOperations[random() % collectives::kOperations.size()];
  made.element = collectives::kElements[random() % collectives::kElements.size()];
  made.kind = static_cast<Kind>(random() % 8);
  const bool is_half = made.element == Element::f16 || made.element == Element::bf16;
  if (made.kind == Kind::user && is_half) made.kind = Kind::sum;
  made.root = random() % ranks;
  made.is_uneven = random() % 3 == 0;
  made.is_in_place = random() % 4 == 0;
  made.is_future = random() % 4 == 0;
  const std::uint64_t count = kCounts[random() % std::size(kCounts)];
  for (Rank rank = 0; rank < ranks; ++rank) {
    made.counts.push_back(made.is_uneven ? (count + rank * 13) % (count + 1) : count);
  }
  return made;
}

std::string text_of(const Case& one) {
  return std::string(name(one.operation)) + " " + std::string(name(one.element)) + " " +
         std::string(name(one.kind)) + " root " + std::to_string(one.root) + " of " +
         std::to_string(one.counts[0]) + (one.is_uneven ? " uneven" : "") +
         (one.is_in_place ? " in place" : "") + (one.is_future ? " future" : "");
}

std::uint64_t before(const std::vector<std::uint64_t>& counts, Rank rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::uint64_t{0});
}

// Both ways of calling, made one.
Result<Outcome> settled(Result<Outcome> outcome) { return outcome; }
Result<Outcome> settled(loop::Future<Outcome> future) { return future.get(); }

#define CALL(name, ...) \
  (one.is_future ? settled(all.i##name(__VA_ARGS__)) : settled(all.name(__VA_ARGS__)))

// Runs it on this rank, and says what is wrong.
void run(const Case& one, Communicator& all) {
  const Rank me = all.rank();
  const Rank ranks = all.size();
  const std::uint64_t count = one.counts[0];
  const std::uint64_t total = before(one.counts, ranks);
  const std::uint64_t mine = one.counts[me];
  const std::uint64_t offset = before(one.counts, me);
  const Reduction reduction = reduction_of(one.kind, one.element);
  const auto own = [&](std::uint64_t i) { return number_of(me, i); };
  const auto expect = [&](const Numbers& got, const std::function<double(std::uint64_t)>& value) {
    for (std::uint64_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], value(i)) << text_of(one) << " rank " << me << " of " << ranks << " at "
                                  << i;
    }
  };
  const auto owner = [&](std::uint64_t i) {
    Rank rank = 0;
    while (i >= before(one.counts, rank + 1)) ++rank;
    return rank;
  };
  Result<Outcome> done = Outcome{};
  switch (one.operation) {
    case Operation::barrier: done = CALL(barrier); break;
    case Operation::broadcast: {
      Numbers data(one.element, count, own);
      done = CALL(broadcast, data.output(), one.root);
      expect(data, [&](auto i) { return number_of(one.root, i); });
      break;
    }
    case Operation::scatter: {
      Numbers whole(one.element, me == one.root ? total : 0, own);
      Numbers block(one.element, mine);
      done = one.is_uneven ? CALL(scatter_v, whole.input(), one.counts, block.output(), one.root)
                           : CALL(scatter, whole.input(), block.output(), one.root);
      expect(block, [&](auto i) { return number_of(one.root, offset + i); });
      break;
    }
    case Operation::gather:
    case Operation::all_gather: {
      const bool gets = one.operation == Operation::all_gather || me == one.root;
      Numbers whole(one.element, gets ? total : 0, [&](auto i) {
        return i >= offset && i < offset + mine ? own(i - offset) : 99.0;
      });
      Numbers block(one.element, mine, own);
      const Input from = one.is_in_place && gets ? Input(whole.part(offset, mine)) : block.input();
      if (one.operation == Operation::gather) {
        done = one.is_uneven ? CALL(gather_v, from, whole.output(), one.counts, one.root)
                             : CALL(gather, from, whole.output(), one.root);
      } else {
        done = one.is_uneven ? CALL(all_gather_v, from, whole.output(), one.counts)
                             : CALL(all_gather, from, whole.output());
      }
      expect(whole, [&](auto i) {
        const Rank rank = owner(i);
        return number_of(rank, i - before(one.counts, rank));
      });
      break;
    }
    case Operation::reduce:
    case Operation::all_reduce: {
      const bool gets = one.operation == Operation::all_reduce || me == one.root;
      Numbers from(one.element, count, own);
      Numbers to(one.element, gets ? count : 0);
      const bool is_in_place = one.is_in_place && gets;
      Numbers& result = is_in_place ? from : to;
      done = one.operation == Operation::all_reduce
                 ? CALL(all_reduce, from.input(), result.output(), reduction)
                 : CALL(reduce, from.input(), result.output(), reduction, one.root);
      if (gets) expect(result, [&](auto i) { return reduced(one.kind, one.element, ranks, i); });
      break;
    }
    case Operation::reduce_scatter: {
      Numbers whole(one.element, total, own);
      Numbers block(one.element, mine);
      const Output to = one.is_in_place ? whole.part(offset, mine) : block.output();
      done = one.is_uneven ? CALL(reduce_scatter_v, whole.input(), one.counts, to, reduction)
                           : CALL(reduce_scatter, whole.input(), to, reduction);
      const Numbers& got = one.is_in_place ? whole : block;
      const std::uint64_t at = one.is_in_place ? offset : 0;
      for (std::uint64_t i = 0; i < mine; ++i) {
        ASSERT_EQ(got[at + i], reduced(one.kind, one.element, ranks, offset + i))
            << text_of(one) << " rank " << me << " at " << i;
      }
      break;
    }
    case Operation::all_to_all: {
      // Rank r sends counts[(r + s) % n] numbers to rank s.
      std::vector<std::uint64_t> sends;
      std::vector<std::uint64_t> receives;
      for (Rank other = 0; other < ranks; ++other) {
        sends.push_back(one.counts[(me + other) % ranks]);
        receives.push_back(one.counts[(other + me) % ranks]);
      }
      Numbers from(one.element, before(sends, ranks), own);
      Numbers to(one.element, before(receives, ranks));
      const bool is_in_place = one.is_in_place && !one.is_uneven;
      Numbers& result = is_in_place ? from : to;
      done = one.is_uneven ? CALL(all_to_all_v, from.input(), sends, result.output(), receives)
                           : CALL(all_to_all, from.input(), result.output());
      std::uint64_t at = 0;
      for (Rank other = 0; other < ranks; ++other) {
        std::vector<std::uint64_t> theirs;
        for (Rank third = 0; third < ranks; ++third) {
          theirs.push_back(one.counts[(other + third) % ranks]);
        }
        for (std::uint64_t i = 0; i < receives[other]; ++i, ++at) {
          ASSERT_EQ(result[at], number_of(other, before(theirs, me) + i))
              << text_of(one) << " rank " << me << " from " << other << " at " << i;
        }
      }
      break;
    }
  }
  ASSERT_TRUE(done) << text_of(one) << ": " << done.error().describe();
}
#undef CALL

struct Setting {
  Way way;
  Rank ranks;
};

class Operations : public ::testing::TestWithParam<Setting> {};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Way way : {Way::inproc, Way::shm, Way::tcp, Way::staged}) {
    for (const Rank ranks : {1U, 2U, 3U, 4U, 7U, 9U}) all.push_back({way, ranks});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(EachWay, Operations, ::testing::ValuesIn(settings()), [](const auto& one) {
  return name(one.param.way) + std::to_string(one.param.ranks);
});

TEST_P(Operations, GiveWhatAPlainLoopGives) {
  LocalRanks ranks(GetParam().way, GetParam().ranks);
  const unsigned seed = static_cast<unsigned>(GetParam().way) * 100 + GetParam().ranks + 1;
  ranks.run([&](Rank, Communicator& all) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 40; ++i) {
      const Case one = draw(random, all.size());
      run(one, all);
      if (::testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(all.barrier());
  });
}

}  // namespace
}  // namespace muster::tests
