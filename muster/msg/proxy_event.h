// What a proxy has to tell besides messages: who came and went, and what was lost.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/msg/message.h"

namespace muster::msg {

struct ProxyEvent {
  enum class Kind : std::uint8_t {
    joined,    // A peer is here for the first time,
    returned,  // or again: after it was lost, with another incarnation, or a broken link.
    left,
    lost,
    link_broke,            // The peer is still a member; what was under way may be lost.
    registry_unreachable,  // Links that stand are not disturbed.
    registry_back,
    dropped,         // `count` messages for the peer will not be delivered.
    refused,         // What the peer said is not a message, or its body is not one.
    unwanted,        // An answer that came late, twice, or for no session.
    session_ended,   // Whose answer was to go to receive(): it will not come.
    too_few_peers,   // Fewer than the minimum are here,
    enough_peers,    // there are enough again,
    minimum_missed,  // there were too few for too long.
    fenced,          // A younger incarnation bears our name: this proxy is over.
    missed,          // `count` events before this one: more than max_events waited.
  };

  Kind kind = Kind::joined;
  std::string peer = {};
  std::string text = {};  // For people.
  std::size_t count = 0;
  SessionId session = {};
};

std::string_view name(ProxyEvent::Kind kind);

}  // namespace muster::msg
