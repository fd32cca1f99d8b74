// Values as JSON, for output that scripts read.

#pragma once

#include <string>
#include <string_view>

#include "muster/wire/value.h"

namespace muster::app {

// With quotes around it, and whatever JSON will not have escaped.
std::string json_string(std::string_view text);

// What JSON has no form for, bytes and tensors, becomes null.
std::string to_json(const wire::Value& value);

}  // namespace muster::app
