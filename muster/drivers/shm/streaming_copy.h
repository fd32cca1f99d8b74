// Copying that leaves the cache to others.

#pragma once

#include <cstddef>

namespace muster::drivers::shm {

// As memcpy. For copies much larger than the cache, whose target is not read
// at once: the target's lines are written without being fetched first.
void streaming_copy(std::byte* to, const std::byte* from, std::size_t size);

// True if it is faster than memcpy on this processor, for a body of many pieces that
// goes through a ring: a fifth on Intel's; on AMD's it takes half as long again.
bool streaming_pays();

}  // namespace muster::drivers::shm
