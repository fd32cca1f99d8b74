// Complaints: warnings about peers, at most one line a second, so that none of
// them can fill a disk.

#pragma once

#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/log.h"

namespace muster::net {

class Complaints {
 public:
  // `scheme` comes first in every line.
  explicit Complaints(std::string_view scheme) : scheme_(scheme) {}

  // Logs a warning that ends in how many were held back before it, or holds it
  // back too.
  void warn(TimePoint now, std::string_view event, std::string_view detail);

 private:
  const std::string scheme_;
  log::RateLimit limit_;
};

}  // namespace muster::net
