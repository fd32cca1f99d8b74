#include "muster/net/complaints.h"

#include <chrono>

#include <fmt/format.h>

namespace muster::net {

void Complaints::warn(TimePoint now, std::string_view event, std::string_view detail) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  const int held_back = limit_.admit(since.count());
  if (held_back < 0) return;
  log::warning(fmt::format("{} {}  {}  others {}", scheme_, event, detail, held_back));
}

}  // namespace muster::net
