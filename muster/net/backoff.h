// Backoff: how long to wait before the next try. Pure: chance is passed in.

#pragma once

#include <algorithm>
#include <cstdint>

#include "muster/base/clock.h"

namespace muster::net {

class Backoff {
 public:
  explicit Backoff(Duration first = std::chrono::milliseconds(50),
                   Duration longest = std::chrono::seconds(5))
      : first_(first), longest_(longest), ceiling_(first) {}

  // Between half of the present ceiling and all of it, by `random`, so that
  // those who lost the same peer do not come back in step. The ceiling doubles.
  Duration next(std::uint64_t random) {
    const Duration half = ceiling_ / 2;
    ceiling_ = std::min(2 * ceiling_, longest_);
    return half + Duration(random % static_cast<std::uint64_t>(half.count() + 1));
  }

  void reset() { ceiling_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration ceiling_;
};

}  // namespace muster::net
