#include "muster/msg/event_waiting.h"

#include <algorithm>
#include <utility>

namespace muster::msg {

EventWaiting::EventWaiting(const std::vector<bool>& is_distinct) : units_(is_distinct.size()) {
  for (std::size_t i = 0; i < units_.size(); ++i) units_[i].is_distinct = is_distinct[i];
}

void EventWaiting::add(EventTicket ticket, std::string_view sender, TimePoint at,
                       std::span<const std::uint32_t> units) {
  ++arrivals_;
  ++messages_;
  Index first = kNone;
  Index last = kNone;
  for (const std::uint32_t unit : units) {
    const Index index = append(unit, sender);
    nodes_[index].ticket = ticket;
    nodes_[index].order = arrivals_;
    nodes_[index].at = at;
    if (first == kNone) first = index;
    if (last != kNone) nodes_[last].sibling = index;
    last = index;
  }
  nodes_[last].sibling = first;
}

EventWaiting::Index EventWaiting::append(std::uint32_t number, std::string_view sender) {
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(nodes_.size()));
    nodes_.emplace_back();
  }
  const Index index = free_.back();
  free_.pop_back();
  Unit& unit = units_[number];
  Node& node = nodes_[index];
  node = Node();
  node.unit = number;
  node.previous = unit.tail;
  if (unit.is_distinct) {
    auto entry = unit.senders.find(sender);
    if (entry == unit.senders.end()) entry = unit.senders.emplace(sender, Sender{}).first;
    ++entry->second.waiting;
    node.sender = &*entry;
  }
  (unit.tail == kNone ? unit.head : nodes_[unit.tail].next) = index;
  unit.tail = index;
  ++unit.size;
  return index;
}

void EventWaiting::pick(std::uint32_t number, std::size_t need) {
  const Unit& unit = units_[number];
  ++rounds_;
  for (Index i = unit.head; i != kNone && need > 0; i = nodes_[i].next) {
    if (unit.is_distinct && std::exchange(nodes_[i].sender->second.round, rounds_) == rounds_) {
      continue;
    }
    mark(i);
    --need;
  }
}

// In all its units, so that another unit's pick does not list it again.
void EventWaiting::mark(Index index) {
  if (nodes_[index].is_picked) return;
  picked_.push_back(index);
  for (Index i = index; !nodes_[i].is_picked; i = nodes_[i].sibling) nodes_[i].is_picked = true;
}

std::vector<EventTicket> EventWaiting::take() {
  std::ranges::sort(picked_, {}, [this](Index i) { return nodes_[i].order; });
  std::vector<EventTicket> tickets;
  tickets.reserve(picked_.size());
  for (const Index index : picked_) {
    tickets.push_back(nodes_[index].ticket);
    remove_message(index);
  }
  picked_.clear();
  return tickets;
}

std::optional<EventTicket> EventWaiting::drop_oldest(std::uint32_t number) {
  const Index index = to_drop(units_[number]);
  const Node node = nodes_[index];
  if (node.sibling == index) {
    remove_message(index);
    return node.ticket;
  }
  Index before = index;
  while (nodes_[before].sibling != index) before = nodes_[before].sibling;
  nodes_[before].sibling = node.sibling;
  unlink(index);
  return std::nullopt;
}

EventWaiting::Index EventWaiting::to_drop(const Unit& unit) const {
  if (!unit.is_distinct) return unit.head;
  // Not far: the senders before it have one message each.
  for (Index i = unit.head; i != kNone; i = nodes_[i].next) {
    if (nodes_[i].sender->second.waiting > 1) return i;
  }
  return unit.head;
}

std::vector<EventTicket> EventWaiting::take_all() {
  for (const Unit& unit : units_) {
    for (Index i = unit.head; i != kNone; i = nodes_[i].next) mark(i);
  }
  return take();
}

void EventWaiting::remove_message(Index index) {
  --messages_;
  Index i = index;
  do {
    const Index sibling = nodes_[i].sibling;
    unlink(i);
    i = sibling;
  } while (i != index);
}

void EventWaiting::unlink(Index index) {
  const Node& node = nodes_[index];
  Unit& unit = units_[node.unit];
  (node.previous == kNone ? unit.head : nodes_[node.previous].next) = node.next;
  (node.next == kNone ? unit.tail : nodes_[node.next].previous) = node.previous;
  --unit.size;
  if (node.sender != nullptr && --node.sender->second.waiting == 0) {
    unit.senders.erase(unit.senders.find(node.sender->first));
  }
  free_.push_back(index);
}

std::size_t EventWaiting::count(std::uint32_t number) const {
  const Unit& unit = units_[number];
  return unit.is_distinct ? unit.senders.size() : unit.size;
}

TimePoint EventWaiting::oldest() const {
  TimePoint oldest = kForever;
  for (const Unit& unit : units_) {
    if (unit.head != kNone) oldest = std::min(oldest, nodes_[unit.head].at);
  }
  return oldest;
}

}  // namespace muster::msg
