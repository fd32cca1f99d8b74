#include "benchmarks/common/samples.h"

#include <algorithm>
#include <cmath>

#include "benchmarks/common/fail.h"

namespace muster::bench {

Samples::Samples(std::size_t expected) {
  values_.resize(expected);
  values_.clear();
}

double Samples::percentile(double share) const {
  if (values_.empty()) fail("nothing was measured: give it more --seconds");
  std::vector<double> sorted = values_;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(index, sorted.size() - 1));
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

}  // namespace muster::bench
