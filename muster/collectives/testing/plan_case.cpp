#include "muster/collectives/testing/plan_case.h"

#include <algorithm>
#include <numeric>

namespace muster::collectives::testing {
namespace {

bool is_all_to_all(const PlanCase& one) { return one.operation == Operation::all_to_all; }

Blocks row(const PlanCase& one, Rank from) {
  const auto begin = one.counts.begin() + static_cast<std::ptrdiff_t>(from * one.ranks);
  return Blocks::uneven({begin, begin + one.ranks});
}

Blocks column(const PlanCase& one, Rank to) {
  std::vector<std::uint64_t> counts;
  for (Rank from = 0; from < one.ranks; ++from) counts.push_back(one.counts[from * one.ranks + to]);
  return Blocks::uneven(std::move(counts));
}

std::vector<Numbers> make_inputs(const PlanCase& one) {
  std::mt19937_64 random(one.seed);
  std::vector<Numbers> inputs;
  for (Rank rank = 0; rank < one.ranks; ++rank) {
    Numbers& input = inputs.emplace_back(input_count(one.shape(rank)));
    for (Number& value : input) value = random();
  }
  return inputs;
}

Arithmetic arithmetic_of(const PlanCase& one) {
  return one.is_commutative ? sums() : compositions();
}

// Everybody's inputs, one after the other from rank 0 on.
Numbers reduced(const PlanCase& one, const std::vector<Numbers>& inputs) {
  const Arithmetic arithmetic = arithmetic_of(one);
  Numbers sum = inputs[0];
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = arithmetic.combine(sum[i], inputs[rank][i]);
    }
  }
  for (Number& value : sum) value = one.has_finish ? arithmetic.finish(value) : value;
  return sum;
}

Numbers block(const Numbers& whole, const Blocks& blocks, Rank rank) {
  const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(blocks.offset(rank));
  return {begin, begin + static_cast<std::ptrdiff_t>(blocks.count(rank))};
}

Numbers joined(const std::vector<Numbers>& parts) {
  Numbers whole;
  for (const Numbers& one : parts) whole.insert(whole.end(), one.begin(), one.end());
  return whole;
}

Numbers expected(const PlanCase& one, const std::vector<Numbers>& inputs, Rank rank) {
  const Shape shape = one.shape(rank);
  switch (one.operation) {
    case Operation::barrier: return {};
    case Operation::broadcast: return shape.is_root() ? Numbers{} : inputs[one.root];
    case Operation::scatter: return block(inputs[one.root], shape.blocks, rank);
    case Operation::gather: return shape.is_root() ? joined(inputs) : Numbers{};
    case Operation::reduce: return shape.is_root() ? reduced(one, inputs) : Numbers{};
    case Operation::all_reduce: return reduced(one, inputs);
    case Operation::all_gather: return joined(inputs);
    case Operation::reduce_scatter: return block(reduced(one, inputs), shape.blocks, rank);
    case Operation::all_to_all: {
      std::vector<Numbers> parts;
      for (Rank from = 0; from < one.ranks; ++from) {
        parts.push_back(block(inputs[from], row(one, from), rank));
      }
      return joined(parts);
    }
  }
  return {};
}

// Input and result in one buffer, the smaller at the rank's own block of the larger.
RankMemory memory_of(const PlanCase& one, Rank rank, Numbers input) {
  const Shape shape = one.shape(rank);
  RankMemory memory;
  memory.input = std::move(input);
  memory.result_count = result_count(shape);
  memory.same_memory = one.same_memory;
  if (!one.same_memory) return memory;
  switch (one.operation) {
    case Operation::gather:
      if (shape.is_root()) memory.input_at = shape.blocks.offset(rank);
      break;
    case Operation::all_gather: memory.input_at = shape.blocks.offset(rank); break;
    case Operation::scatter:
      if (shape.is_root()) memory.result_at = shape.blocks.offset(rank);
      break;
    case Operation::reduce_scatter: memory.result_at = shape.blocks.offset(rank); break;
    default: break;
  }
  return memory;
}

}  // namespace

Shape PlanCase::shape(Rank rank) const {
  Shape made;
  made.operation = operation;
  made.ranks = ranks;
  made.rank = rank;
  made.root = root;
  made.count = count;
  made.is_commutative = is_commutative;
  made.has_finish = has_finish;
  if (operation != Operation::all_to_all) {
    made.blocks = Blocks::uneven(counts);
    return made;
  }
  made.blocks = row(*this, rank);
  made.receives = column(*this, rank);
  for (Rank from = 0; from < ranks; ++from) {
    made.peer_offsets.push_back(row(*this, from).offset(rank));
  }
  made.is_even = std::all_of(counts.begin(), counts.end(),
                             [&](std::uint64_t one) { return one == counts.front(); });
  return made;
}

bool PlanCase::is_possible() const {
  if (same_memory && operation == Operation::all_to_all) return false;
  return collectives::is_possible(shape(0), method.algorithm, hosts);
}

std::optional<std::string> PlanCase::run(std::uint64_t* landed) const {
  const std::vector<Numbers> inputs = make_inputs(*this);
  std::vector<Plan> plans;
  std::vector<RankMemory> memory;
  for (Rank rank = 0; rank < ranks; ++rank) {
    plans.push_back(make_plan(shape(rank), method, hosts));
    memory.push_back(memory_of(*this, rank, inputs[rank]));
  }
  PlanMachine machine(std::move(plans), std::move(memory), arithmetic_of(*this), seed);
  if (auto failure = machine.run()) return describe() + ": " + *failure;
  if (landed != nullptr) *landed = machine.landed();
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (machine.result(rank) != expected(*this, inputs, rank)) {
      return describe() + ": rank " + std::to_string(rank) + " has a wrong result";
    }
  }
  return std::nullopt;
}

std::string PlanCase::describe() const {
  std::string text = std::string(name(operation)) + " " + std::string(name(method.algorithm)) +
                     ", " + std::to_string(ranks) + " ranks, root " + std::to_string(root) +
                     ", count " + std::to_string(count) + ", segment " +
                     std::to_string(method.segment) + ", grain " + std::to_string(method.grain) +
                     ", seed " + std::to_string(seed);
  if (!is_commutative) text += ", in order";
  if (has_finish) text += ", finished";
  if (same_memory) text += ", in place";
  if (!hosts.empty()) text += ", hosts";
  for (const std::uint32_t host : hosts) text += " " + std::to_string(host);
  return text;
}

PlanCase equal_case(Operation operation, Algorithm algorithm, Rank ranks, std::uint64_t count) {
  PlanCase made;
  made.operation = operation;
  made.method.algorithm = algorithm;
  made.ranks = ranks;
  made.count = count;
  made.counts.assign(is_all_to_all(made) ? ranks * ranks : ranks, count);
  return made;
}

}  // namespace muster::collectives::testing
