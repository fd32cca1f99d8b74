#include "tests/collectives/pairs.h"

#include <iterator>
#include <map>
#include <utility>

namespace muster::tests {
namespace {

using Kind = Reduction::Kind;

constexpr int kCasesEach = 22;
constexpr int kCandidates = 10;

bool reduces(Operation operation) {
  return operation == Operation::reduce || operation == Operation::all_reduce ||
         operation == Operation::reduce_scatter;
}

bool has_counts(Operation operation) {
  return operation == Operation::scatter || operation == Operation::gather ||
         operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all;
}

bool can_be_in_place(Operation operation) {
  return operation != Operation::barrier && operation != Operation::broadcast;
}

// The choices that a case stands for, each a factor and a value.
enum class Factor : std::uint8_t {
  way,
  ranks,
  operation,
  future,
  element,
  count,
  kind,
  uneven,
  place,
  arena,
  order,
};
constexpr std::string_view kFactors[] = {"way",     "ranks", "operation", "future",
                                         "element", "count", "kind",      "uneven",
                                         "place",   "arena", "order"};
constexpr std::uint32_t kValues = 16;  // At most so many of each.
constexpr std::uint32_t kChoices = kValues * std::size(kFactors);

using Choices = std::vector<std::uint32_t>;

struct Drawn {
  Case one;
  std::uint32_t count;  // Which of kCounts.
};

Choices choices_of(const Drawn& drawn, Way way, Rank ranks) {
  const Case& one = drawn.one;
  Choices all;
  const auto add = [&](Factor factor, auto value) {
    all.push_back(static_cast<std::uint32_t>(factor) * kValues + static_cast<std::uint32_t>(value));
  };
  add(Factor::way, way);
  add(Factor::ranks, ranks);
  add(Factor::operation, one.operation);
  add(Factor::future, one.is_future);
  if (one.operation == Operation::barrier) return all;
  add(Factor::element, one.element);
  add(Factor::count, drawn.count);
  add(Factor::arena, one.is_in_arena);
  if (reduces(one.operation)) add(Factor::kind, one.kind);
  if (reduces(one.operation) && one.kind == Kind::user) add(Factor::order, one.is_ordered);
  if (has_counts(one.operation)) add(Factor::uneven, one.is_uneven);
  if (can_be_in_place(one.operation)) add(Factor::place, one.is_in_place);
  return all;
}

// Calls `use` with a number for each pair.
template <class Use>
void for_each_pair(const Choices& choices, Use use) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t k = i + 1; k < choices.size(); ++k) use(choices[i] * kChoices + choices[k]);
  }
}

using Pairs = std::vector<bool>;  // By their numbers.
Pairs no_pairs() { return Pairs(std::size_t{kChoices} * kChoices); }

Drawn draw_one(std::minstd_rand& random, Rank ranks) {
  const auto count = static_cast<std::uint32_t>(random() % std::size(kCounts));
  Drawn drawn{draw(random, ranks), count};
  set_counts(drawn.one, ranks, kCounts[count]);
  return drawn;
}

struct Schedule {
  std::map<std::pair<Way, Rank>, std::vector<Case>> cases;
  Pairs met = no_pairs();

  Schedule() {
    std::minstd_rand random(5);
    for (const Way way : kWays) {
      for (Rank ranks = 1; ranks <= kMostRanks; ++ranks) {
        for (int i = 0; i < kCasesEach; ++i) {
          cases[{way, ranks}].push_back(best(random, way, ranks));
        }
      }
    }
  }

  // Of some, the one that meets most of what is left.
  Case best(std::minstd_rand& random, Way way, Rank ranks) {
    Drawn chosen;
    int most = -1;
    for (int i = 0; i < kCandidates; ++i) {
      Drawn drawn = draw_one(random, ranks);
      int news = 0;
      for_each_pair(choices_of(drawn, way, ranks), [&](auto pair) { news += met[pair] ? 0 : 1; });
      if (news <= most) continue;
      most = news;
      chosen = std::move(drawn);
    }
    for_each_pair(choices_of(chosen, way, ranks), [&](auto pair) { met[pair] = true; });
    return chosen.one;
  }
};

const Schedule& schedule() {
  static const Schedule kSchedule;
  return kSchedule;
}

std::string text_of_choice(std::uint32_t choice) {
  return std::string(kFactors[choice / kValues]) + " " + std::to_string(choice % kValues);
}

}  // namespace

const std::vector<Case>& paired_cases(Way way, Rank ranks) {
  return schedule().cases.at({way, ranks});
}

// Which can meet is found by looking at very many.
std::vector<std::string> unmet_pairs() {
  Pairs met = schedule().met;
  std::vector<std::string> texts;
  std::minstd_rand random(99);
  for (int i = 0; i < 30000; ++i) {
    const Rank ranks = 1 + static_cast<Rank>(random() % kMostRanks);
    const Way way = kWays[random() % std::size(kWays)];
    for_each_pair(choices_of(draw_one(random, ranks), way, ranks), [&](auto pair) {
      if (met[pair]) return;
      met[pair] = true;
      texts.push_back(text_of_choice(pair / kChoices) + " with " + text_of_choice(pair % kChoices));
    });
  }
  return texts;
}

}  // namespace muster::tests
