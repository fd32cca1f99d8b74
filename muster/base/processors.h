// How many processors there are to run on.

#pragma once

namespace muster {

// Those that this process may use. At least one.
unsigned usable_processors();

}  // namespace muster
