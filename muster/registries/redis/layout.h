// How a group lies in Redis, and what is asked and answered about it. Pure.
//
// docs/reference/registries.md has the keys. Names have no colon, so a group's
// own keys, which begin with GROUP::, are never those of a type.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/msg/registry.h"
#include "muster/registries/redis/resp.h"

namespace muster::registries::redis {

using Command = std::vector<std::string>;

// One component as Redis has it.
struct Listed {
  msg::Member member;
  bool is_leased = false;  // Else it was not heard of for its lease, and not yet removed.

  bool operator==(const Listed&) const = default;
};

// How a component went that is there no more.
struct Gone {
  bool has_left = false;  // Else it was lost.
  std::uint64_t incarnation = 0;

  bool operator==(const Gone&) const = default;
};

struct Roll {
  std::vector<Listed> listed;
  std::map<std::string, Gone> gone;
};

// The channel that a poke is published on whenever a roll has changed.
std::string news_channel(const std::string& group);

// Announces the component, or renews its lease.
Command announce_command(const msg::JoinRequest& request);
// The incarnation that it has now; nothing if a younger one bears the name.
Result<std::optional<std::uint64_t>> read_announced(const Reply& reply);

// Tells a Redis that may have forgotten how high these have counted.
Command remind_command(const std::string& group, const std::map<std::string, msg::Member>& known);

// Asks who is there, and has those removed whose leases have run out.
Command roll_command(const std::string& group, Duration lease);
// Leaves out what others have written there that is no component of ours.
Result<Roll> read_roll(const Reply& reply);

Command leave_command(const msg::JoinRequest& request);

// What stands under a component's name in the hash of its type.
std::string encode_record(const msg::Member& member);
Result<msg::Member> decode_record(const std::string& bytes);

}  // namespace muster::registries::redis
