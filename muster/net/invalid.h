// What a peer says that it may not say. Internal to net.

#pragma once

#include <string>
#include <utility>

#include "muster/base/result.h"

namespace muster::net {

inline Error invalid(std::string why) { return {Code::invalid, std::move(why)}; }

}  // namespace muster::net
