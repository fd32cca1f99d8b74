// PeerTable: who is in the group, as far as one member knows. Pure.
//
// A name keeps its PeerId over returns. What bears a lower incarnation than was
// heard of, or the same with another id, is stale and gets no place.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/id.h"
#include "muster/msg/ids.h"
#include "muster/msg/registry.h"

namespace muster::msg {

enum class Presence : std::uint8_t {
  connecting,  // A member, but no link stands.
  here,
  lost,  // Gone without a goodbye; it may return.
  left,
};
std::string_view name(Presence presence);

struct PeerRecord {
  PeerId id;
  Member member;
  Presence presence = Presence::connecting;
};

// Whom a broadcast is for. Those who have left or are lost are never among them.
class Audience {
 public:
  static Audience all() { return Audience(Kind::all, "*"); }
  static Audience type(std::string type) { return {Kind::type, std::move(type)}; }
  // '*' stands for any text, '?' for any character; all else for itself.
  static Audience pattern(std::string pattern) { return {Kind::pattern, std::move(pattern)}; }

  bool has(std::string_view name, std::string_view type) const;
  // For people.
  const std::string& text() const { return text_; }

 private:
  enum class Kind : std::uint8_t { all, type, pattern };
  Audience(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  Kind kind_;
  std::string text_;
};

// Peers that somebody waits for: so many of a type, or one by name.
struct Expected {
  std::string type = {};
  std::size_t count = 1;
  std::string name = {};  // If it is given, the type and the count mean nothing.
};
std::string describe(const Expected& expected);

class PeerTable {
 public:
  enum class News : std::uint8_t {
    joined,    // Not known before.
    same,      // Nothing new, but perhaps its addresses.
    returned,  // It was lost or had left.
    replaced,  // A younger incarnation of one that was there.
    stale,     // Older than what is known: nothing has changed.
  };
  struct Meeting {
    PeerId id;
    News news;
  };

  // Heard of `member`, from the registry or from itself. Addresses are kept
  // if it has none.
  Meeting meet(const Member& member);

  // Null if there is none such.
  PeerRecord* find(PeerId id);
  const PeerRecord* find(PeerId id) const;
  PeerRecord* find(std::string_view name);

  // Makes room for others: nobody keeps what is known of it. Its id is void.
  void remove(PeerId id);

  // In the order of their names.
  std::vector<PeerId> select(const Audience& audience) const;
  std::vector<PeerId> all() const;
  // True if enough of them are here.
  bool has(const Expected& expected) const;
  std::size_t size() const { return names_.size(); }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    bool is_used = false;
    PeerRecord record;
  };

  std::vector<Slot> slots_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
};

}  // namespace muster::msg
