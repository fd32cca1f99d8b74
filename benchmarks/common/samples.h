// Durations of single operations, and what is said about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::bench {

class Samples {
 public:
  // Room for `expected` of them is touched beforehand, so that the measured
  // loop takes no page fault for keeping its own books.
  explicit Samples(std::size_t expected);

  void add(std::int64_t nanoseconds) { values_.push_back(static_cast<double>(nanoseconds)); }
  std::size_t count() const { return values_.size(); }

  // The smallest value that `share` (0 to 1) of the samples do not exceed, in
  // nanoseconds. Fails the program when there are none: a benchmark that
  // measured nothing has no result.
  double percentile(double share) const;

 private:
  std::vector<double> values_;
};

}  // namespace muster::bench
