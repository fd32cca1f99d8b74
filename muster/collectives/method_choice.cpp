#include "muster/collectives/method_choice.h"

#include <algorithm>

namespace muster::collectives::internal {

Method choose_method(const Shape& shape, Element, const Hosts& hosts) {
  const bool is_one_host =
      std::ranges::all_of(hosts, [&](std::uint32_t host) { return host == hosts[0]; });
  const Hosts given = is_one_host ? Hosts{} : hosts;
  const Algorithm wanted[] = {is_one_host ? Algorithm::direct : Algorithm::hierarchical,
                              Algorithm::ring, Algorithm::tree, Algorithm::doubling,
                              Algorithm::linear};
  for (const Algorithm algorithm : wanted) {
    if (is_possible(shape, algorithm, given)) return {.algorithm = algorithm};
  }
  return {.algorithm = Algorithm::linear};
}

}  // namespace muster::collectives::internal
