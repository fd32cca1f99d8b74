// Memory for small bodies, at the cost of a few instructions.
//
// Most messages are small, and each needs memory twice: where it is made and
// where it is received. What a thread lets go it keeps for its next ones.

#pragma once

#include <cstddef>

#include "muster/base/buffer.h"

namespace muster {

inline constexpr std::size_t kSmallBlock = 240;

// Any thread. Uninitialised memory of `size` bytes, at most kSmallBlock; it may
// be let go on any other.
WritableBuffer take_small_block(std::size_t size);

}  // namespace muster
