// Pairs: cases chosen so that every two choices meet in one of them.
//
// Choices are the way, how many ranks, the operation, its type, reduction and
// count, and whether it is uneven, in place, and waited for as a future.

#pragma once

#include <string>
#include <vector>

#include "tests/collectives/cases.h"
#include "tests/collectives/local_ranks.h"

namespace muster::tests {

inline constexpr Rank kMostRanks = 9;
inline constexpr Way kWays[] = {Way::inproc, Way::shm, Way::tcp, Way::staged};

// What is run by so many ranks over that way.
const std::vector<Case>& paired_cases(Way way, Rank ranks);

// Pairs that nothing meets, by name.
std::vector<std::string> unmet_pairs();

}  // namespace muster::tests
