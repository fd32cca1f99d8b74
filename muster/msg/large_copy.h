// Copying what is so large that a second CPU is worth asking.

#pragma once

#include <cstddef>
#include <span>

namespace muster::msg {

// Copies `from` to `to`, which has room for it. A large body is copied by two
// threads, where there are CPUs for both; the second is gone when this returns.
void copy_large(std::span<const std::byte> from, std::byte* to);

}  // namespace muster::msg
