// Every operation x type x reduction x 1 to 9 ranks x size, over each way.

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/collectives/pairs.h"

namespace muster::tests {
namespace {

using Kind = Reduction::Kind;

// Beyond the segments and the windows, too: for one type, as it takes long.
constexpr std::uint64_t kLarge[] = {131073, 262145, 1100000, 2097153};

std::vector<Case> cases_of(Operation operation, Element element, Kind kind, Rank ranks) {
  std::vector<std::uint64_t> counts(std::begin(kCounts), std::end(kCounts));
  if (operation == Operation::barrier) counts = {0};
  if (element == Element::f32 && kind == Kind::sum) {
    counts.insert(counts.end(), std::begin(kLarge), std::end(kLarge));
  }
  std::vector<Case> all;
  for (const std::uint64_t count : counts) {
    for (const bool is_uneven : {false, true}) {
      Case one;
      one.operation = operation;
      one.element = element;
      one.kind = kind;
      one.is_uneven = is_uneven;
      one.root = static_cast<Rank>(count % ranks);
      one.is_in_place = count % 2 == 1;
      one.is_future = count % 5 == 2;
      one.is_in_arena = count % 3 == 1;
      one.is_ordered = kind == Kind::user && count % 4 != 1;
      set_counts(one, ranks, count);
      all.push_back(one);
    }
  }
  return all;
}

std::vector<Case> all_cases(Rank ranks) {
  std::vector<Case> all;
  for (const Operation operation : kOperations) {
    const bool reduces = operation == Operation::reduce || operation == Operation::all_reduce ||
                         operation == Operation::reduce_scatter;
    for (const Element element : kElements) {
      for (const Kind kind : {Kind::sum, Kind::product, Kind::min, Kind::max, Kind::mean,
                              Kind::logical_and, Kind::logical_or, Kind::user}) {
        if (kind != Kind::sum && !reduces) continue;
        std::ranges::move(cases_of(operation, element, kind, ranks), std::back_inserter(all));
      }
    }
  }
  return all;
}

struct Setting {
  Way way;
  Rank ranks;
};

class Matrix : public ::testing::TestWithParam<Setting> {};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Way way : kWays) {
    for (Rank ranks = 1; ranks <= kMostRanks; ++ranks) all.push_back({way, ranks});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(InFull, Matrix, ::testing::ValuesIn(settings()), [](const auto& one) {
  return name(one.param.way) + std::to_string(one.param.ranks);
});

TEST_P(Matrix, GivesWhatAPlainLoopGives) {
  LocalRanks ranks(GetParam().way, GetParam().ranks);
  const std::vector<Case> cases = all_cases(GetParam().ranks);
  ranks.run([&](Rank, Communicator& all) {
    for (const Case& one : cases) {
      const Checked checked = run(one, all);
      ASSERT_TRUE(checked.outcome) << text_of(one) << ": " << checked.outcome.error().describe();
      ASSERT_EQ(checked.wrong, "");
    }
    ASSERT_TRUE(all.barrier());
  });
}

}  // namespace
}  // namespace muster::tests
