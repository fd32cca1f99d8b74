// Copying more than one processor can at the speed of the memory.

#pragma once

#include <cstddef>

namespace muster::msg {

// As memcpy. A second thread takes its share of what is large, where the process may use
// a second processor: one alone moves half of what the memory can. Returns when all is
// copied; without a second thread, if the system has none, it takes longer.
void copy_large(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace muster::msg
