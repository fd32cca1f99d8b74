// What a benchmark program prints: one line of JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::bench {

struct Report {
  double value = 0;
  std::string unit;  // "us", "ms", "s", "msg/s", "task/s", "GB/s", "KiB", "MiB"
  bool lower_is_better = true;
  // Named figures beside the one that is compared, in the order they print.
  std::vector<std::pair<std::string, double>> extra;
};

// {"value": 0.61, "unit": "us", "lower_is_better": true, "extra": {"p99": 0.9}}
std::string to_json(const Report& report);

}  // namespace muster::bench
