// Whether two bodies are the same, known cheaply. Pure.

#pragma once

#include "muster/wire/value.h"

namespace muster::msg {

// True if both would be written the same. Large byte strings and tensors are
// the same only if they share their memory: to compare them would cost more
// than is saved.
bool is_same_body(const wire::Value& a, const wire::Value& b);

}  // namespace muster::msg
