// EventWaiting: the messages that one event keeps until it fires. Pure.
//
// A message stands in the list of each unit that it matches and leaves all of
// them at once when it is taken, so that an event hands out no message twice.
// Once warm, nothing here allocates but for what a new sender of a distinct
// unit is remembered by.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/msg/event_map.h"

namespace muster::msg {

// Whatever the caller knows a message by.
using EventTicket = std::uint64_t;

class EventWaiting {
 public:
  // As many units as `is_distinct` has entries.
  explicit EventWaiting(const std::vector<bool>& is_distinct);
  EventWaiting(const EventWaiting&) = delete;  // Nodes point at their senders.
  EventWaiting& operator=(const EventWaiting&) = delete;

  // A message that matches `units`, of which there is at least one.
  void add(EventTicket ticket, std::string_view sender, TimePoint at,
           std::span<const std::uint32_t> units);

  // Marks the oldest messages of `unit`, `need` of them or all there are; of
  // distinct units, each sender's oldest.
  void pick(std::uint32_t unit, std::size_t need);
  // Takes out what is marked, the oldest first.
  std::vector<EventTicket> take();

  // The unit's oldest message leaves it; where senders count, the oldest of a
  // sender with another one waiting, so that a busy sender displaces itself.
  // Its ticket, if no other unit keeps it.
  std::optional<EventTicket> drop_oldest(std::uint32_t unit);

  std::vector<EventTicket> take_all();

  // What counts towards the need: messages, or senders.
  std::size_t count(std::uint32_t unit) const;
  // Messages in a unit, and in all of them together.
  std::size_t size(std::uint32_t unit) const { return units_[unit].size; }
  std::size_t size() const { return messages_; }
  // When the oldest message came; kForever if there is none.
  TimePoint oldest() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;

  struct Sender {
    std::size_t waiting = 0;
    std::uint64_t round = 0;  // Of the pick() that last marked one of its messages.
  };
  // Nodes point into it: one whose entries stay where they are.
  using Senders = std::unordered_map<std::string, Sender, EventTextHash, std::equal_to<>>;

  // A message's place in one unit.
  struct Node {
    EventTicket ticket = 0;
    std::uint64_t order = 0;  // Of arrival.
    TimePoint at;
    Senders::value_type* sender = nullptr;  // In distinct units.
    std::uint32_t unit = 0;
    Index previous = kNone;
    Index next = kNone;
    Index sibling = kNone;  // The same message in the next unit, round to this one.
    bool is_picked = false;
  };
  struct Unit {
    bool is_distinct = false;
    Index head = kNone;
    Index tail = kNone;
    std::size_t size = 0;
    Senders senders;
  };

  Index append(std::uint32_t unit, std::string_view sender);
  void mark(Index index);
  void unlink(Index index);
  void remove_message(Index index);
  Index to_drop(const Unit& unit) const;

  std::vector<Unit> units_;
  std::vector<Node> nodes_;
  std::vector<Index> free_;
  std::vector<Index> picked_;  // One node for each message.
  std::size_t messages_ = 0;
  std::uint64_t arrivals_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace muster::msg
