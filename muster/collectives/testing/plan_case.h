// PlanCase: one operation over all ranks, run on the machine and compared with
// plain loops.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/collectives/plans.h"
#include "muster/collectives/testing/plan_machine.h"

namespace muster::collectives::testing {

struct PlanCase {
  Operation operation = Operation::barrier;
  Method method;
  Rank ranks = 1;
  Rank root = 0;
  std::uint64_t count = 0;  // broadcast, reduce, all_reduce.
  // Each rank's block; all_to_all: [from * ranks + to].
  std::vector<std::uint64_t> counts;
  Hosts hosts;
  bool is_commutative = true;
  bool has_finish = false;
  bool same_memory = false;
  std::uint64_t seed = 1;

  // As rank `rank` has it.
  Shape shape(Rank rank) const;
  bool is_possible() const;

  // Nothing if every rank's result is right; else what is wrong, and where.
  // `landed` gets the number of messages that came before their step.
  std::optional<std::string> run(std::uint64_t* landed = nullptr) const;
  std::string describe() const;
};

// Of equal blocks.
PlanCase equal_case(Operation operation, Algorithm algorithm, Rank ranks, std::uint64_t count);

}  // namespace muster::collectives::testing
