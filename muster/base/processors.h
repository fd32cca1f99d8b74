// How many processors there are to run on, and whose.

#pragma once

#include <cstdint>

namespace muster {

// Those that this process may use. At least one.
unsigned usable_processors();

// Who made them, for what is faster in one way on some and in another on others.
enum class ProcessorMaker : std::uint8_t { other, intel };

// The same for all processes of a machine, but for those under a tool that plays a processor.
ProcessorMaker processor_maker();

}  // namespace muster
