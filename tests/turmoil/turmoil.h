// Turmoil: eight processes that all send numbers to all others, while some of them
// are killed and stopped; and the account of every number in the end.
//
// Each keeps what it sends in an outbox on disk, and commits what it has handled
// to a store. So each must get the numbers of each other one by one: one that is
// left out, comes twice or out of order ends the test.

#pragma once

#include <cstdint>

#include "muster/base/clock.h"

namespace muster::tests {

inline constexpr int kMembers = 8;

struct Turmoil {
  Duration time = {};         // How long they are killed and stopped,
  std::uint64_t numbers = 0;  // and how many go, meanwhile, from each to each.
  std::uint64_t seed = 0;
};

// Expects of GoogleTest's.
void expect_all_accounted_for(const Turmoil& turmoil);

}  // namespace muster::tests
