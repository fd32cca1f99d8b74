// RegistryView: what one member has been told of its group, so that it is told
// each thing once. Pure.
//
// A registry that was away tells everything again: a roll call, after which
// whoever was not named is missing.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/msg/registry.h"

namespace muster::msg {

class RegistryView {
 public:
  // `member` is there. True if that is news: it was not, or has changed. What
  // bears a lower incarnation than was told last is old.
  bool see(const Member& member);

  // `name` with this incarnation, or a lower one, is there no more. The member
  // as it was told, if it was.
  std::optional<Member> remove(const std::string& name, std::uint64_t incarnation);

  // From here on see() notes who is named.
  void begin_roll_call();
  // Those not named since, nor seen otherwise. They stay until they are removed.
  std::vector<Member> missing() const;

  const Member* find(const std::string& name) const;
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    Member member;
    std::uint64_t seen_in = 0;  // The roll call.
  };
  std::map<std::string, Known> known_;
  std::uint64_t roll_call_ = 0;
};

}  // namespace muster::msg
