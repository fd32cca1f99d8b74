// Copying that leaves the cache to others.

#pragma once

#include <cstddef>

namespace muster::drivers::shm {

// As memcpy. For copies much larger than the cache, whose target is not read
// at once: the target's lines are written without being fetched first.
void streaming_copy(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace muster::drivers::shm
