// EventSources: the sources that events name, and how many live peers each
// matches. Pure.
//
// A lookup costs the same however many sources there are; it grows only with
// the number of different lengths among prefixes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/msg/event_map.h"

namespace muster::msg {

class EventSources {
 public:
  using Id = std::uint32_t;

  // The source written as `text`: "*", a type or name, "worker_*". The same
  // text has the same id until it has been released as often as it was held.
  Id hold(std::string_view text);
  void release(Id id);

  // Appends the sources that a peer matches, each once.
  void match(std::string_view name, std::string_view type, std::vector<Id>& found) const;

  // A peer is there, or gone. Appends the sources whose number changed; none if
  // it was known already, or not known. A known name with another type is
  // another peer in its place.
  void joined(std::string_view name, std::string_view type, std::vector<Id>& changed);
  void left(std::string_view name, std::vector<Id>& changed);

  // How many live peers match.
  std::size_t live(Id id) const { return sources_[id].live; }
  std::size_t peers() const { return peers_.size(); }

 private:
  struct Source {
    std::string text;
    std::size_t live = 0;
    std::size_t holders = 0;
  };

  std::optional<Id> find(std::string_view text) const;
  void enter(std::string_view text, Id id);
  void withdraw(std::string_view text);
  void count_length(std::size_t length, int change);
  bool matches(std::string_view text, std::string_view name, std::string_view type) const;

  std::vector<Source> sources_;
  std::vector<Id> free_;
  std::optional<Id> all_;  // "*".
  EventMap<Id> exact_;     // Types and names.
  EventMap<Id> prefixes_;  // Without their star.
  // Lengths of prefixes, and how many have each.
  std::vector<std::pair<std::size_t, int>> lengths_;
  EventMap<std::string> peers_;  // Types by name.
};

}  // namespace muster::msg
