#include "tests/collectives/pairs.h"

#include <map>
#include <set>
#include <utility>

namespace muster::tests {
namespace {

using Kind = Reduction::Kind;

constexpr int kCasesEach = 22;
constexpr int kCandidates = 24;

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
  return operation != Operation::barrier && operation != Operation::broadcast &&
         operation != Operation::scatter;
}

// The choices that a case stands for, each "factor=value".
using Choices = std::vector<std::string>;

Choices choices_of(const Case& one, std::uint64_t count, Way way, Rank ranks) {
  Choices all{"way=" + name(way), "ranks=" + std::to_string(ranks),
              "operation=" + std::string(name(one.operation)),
              std::string("future=") + (one.is_future ? "yes" : "no")};
  if (one.operation == Operation::barrier) return all;
  all.push_back("element=" + std::string(name(one.element)));
  all.push_back("count=" + std::to_string(count));
  if (reduces(one.operation)) all.push_back("kind=" + std::string(name(one.kind)));
  if (has_counts(one.operation)) {
    all.push_back(std::string("uneven=") + (one.is_uneven ? "yes" : "no"));
  }
  if (can_be_in_place(one.operation)) {
    all.push_back(std::string("place=") + (one.is_in_place ? "same" : "apart"));
  }
  return all;
}

using Pair = std::pair<std::string, std::string>;

std::set<Pair> pairs_of(const Choices& choices) {
  std::set<Pair> pairs;
  for (const std::string& one : choices) {
    for (const std::string& other : choices) {
      if (one < other) pairs.emplace(one, other);
    }
  }
  return pairs;
}

struct Drawn {
  Case one;
  std::uint64_t count;
};

Drawn draw_one(std::minstd_rand& random, Rank ranks) {
  Drawn drawn{draw(random, ranks), kCounts[random() % std::size(kCounts)]};
  set_counts(drawn.one, ranks, drawn.count);
  return drawn;
}

// All that can meet, found by looking at very many.
std::set<Pair> all_pairs() {
  std::set<Pair> all;
  std::minstd_rand random(99);
  for (int i = 0; i < 60000; ++i) {
    const Rank ranks = 1 + static_cast<Rank>(random() % kMostRanks);
    const Way way = kWays[random() % std::size(kWays)];
    const Drawn drawn = draw_one(random, ranks);
    all.merge(pairs_of(choices_of(drawn.one, drawn.count, way, ranks)));
  }
  return all;
}

struct Schedule {
  std::map<std::pair<Way, Rank>, std::vector<Case>> cases;
  std::set<Pair> unmet = all_pairs();

  Schedule() {
    std::minstd_rand random(5);
    for (const Way way : kWays) {
      for (Rank ranks = 1; ranks <= kMostRanks; ++ranks) {
        for (int i = 0; i < kCasesEach; ++i)
          cases[{way, ranks}].push_back(best(random, way, ranks));
      }
    }
  }

  // Of some, the one that meets most of what is left.
  Case best(std::minstd_rand& random, Way way, Rank ranks) {
    Case chosen;
    std::set<Pair> met;
    for (int i = 0; i < kCandidates; ++i) {
      Drawn drawn = draw_one(random, ranks);
      std::set<Pair> news;
      for (const Pair& pair : pairs_of(choices_of(drawn.one, drawn.count, way, ranks))) {
        if (unmet.contains(pair)) news.insert(pair);
      }
      if (i > 0 && news.size() <= met.size()) continue;
      chosen = std::move(drawn.one);
      met = std::move(news);
    }
    for (const Pair& pair : met) unmet.erase(pair);
    return chosen;
  }
};

const Schedule& schedule() {
  static const Schedule kSchedule;
  return kSchedule;
}

}  // namespace

const std::vector<Case>& paired_cases(Way way, Rank ranks) {
  return schedule().cases.at({way, ranks});
}

std::vector<std::string> unmet_pairs() {
  std::vector<std::string> texts;
  for (const auto& [one, other] : schedule().unmet) texts.push_back(one + " with " + other);
  return texts;
}

}  // namespace muster::tests
