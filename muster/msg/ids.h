// What sessions, messages and peers are known by.

#pragma once

#include <cstdint>

#include "muster/base/id.h"

namespace muster::msg {

using SessionId = Id;
using MessageId = Id;

// A peer, known by a number instead of its name. Stays the same over returns.
struct PeerId {
  std::uint32_t slot = UINT32_MAX;
  std::uint32_t generation = 0;

  explicit operator bool() const { return slot != UINT32_MAX; }
  friend bool operator==(const PeerId&, const PeerId&) = default;
};

}  // namespace muster::msg
