// An operation of many ranks, done by those of them that are left. Pure.

#pragma once

#include <vector>

#include "muster/base/result.h"
#include "muster/collectives/call.h"

namespace muster::collectives::internal {

// What the survivors call, and the memory that they need for it.
struct Reduced {
  Call call;
  std::vector<std::byte> input;   // Blocks of survivors alone, where the call has blocks.
  std::vector<std::byte> result;  // The same.
};

// `call` of `where` as done by `alive`, ascending, this rank among them. Blocks
// of others are left out. Code::unavailable if the root is not among them.
Result<Reduced> for_survivors(const Call& call, Where where, const std::vector<Rank>& alive);

// Puts the blocks of `reduced.result` where the caller expects them; those of
// others stay as they are.
void spread(const Call& call, Where where, const std::vector<Rank>& alive, const Reduced& reduced);

}  // namespace muster::collectives::internal
