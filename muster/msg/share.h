// How many a fraction of several is.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muster::msg {

// `fraction`, at most 1, of `count`, rounded up. 0.55 of 100 is 55, though the product of
// the nearest doubles is a little more: what is that near to a whole number is that number.
inline std::size_t share_of(double fraction, std::size_t count) {
  constexpr double kNoise = 1e-12;
  const double share = std::min(fraction, 1.0) * static_cast<double>(count);
  return static_cast<std::size_t>(std::ceil(share * (1 - kNoise)));
}

}  // namespace muster::msg
