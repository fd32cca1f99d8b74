// EventMap<T>: values by text, looked up without making a string.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "muster/msg/flat_map.h"

namespace muster::msg {

struct EventTextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

template <class T>
using EventMap = FlatMap<std::string, T, EventTextHash>;

}  // namespace muster::msg
