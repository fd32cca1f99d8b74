// Where a communicator over a proxy listens: where the proxy does, so that members on
// other hosts reach it as well. Pure.

#pragma once

#include <string>
#include <vector>

namespace muster::collectives::internal {

// The same places, but for what the proxy itself has taken there: one port, or a name.
std::vector<std::string> places_beside(const std::vector<std::string>& listen);

}  // namespace muster::collectives::internal
