// Backlog: notifications for a peer that is here and takes them too slowly, where
// the oldest are to give way to the newest. Bounded; pure.

#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "muster/msg/outbox.h"
#include "muster/net/link_head.h"

namespace muster::msg {

class Backlog {
 public:
  explicit Backlog(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Keeps `message` at the cost of those that it gives in `dropped`: the oldest of
  // the least urgent, itself if all others are more urgent or it can never fit.
  void push(OutgoingMessage message, std::vector<OutgoingMessage>& dropped);
  // The most urgent, of those the oldest; null if there is none.
  OutgoingMessage* next();
  // Takes out the one that next() gave.
  void pop();
  // All of it, in the order of its making.
  std::vector<OutgoingMessage> take_all();

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }

 private:
  using Lane = std::deque<OutgoingMessage>;
  OutgoingMessage take_front(Lane& lane);

  const std::size_t max_bytes_;
  std::array<Lane, net::kPriorities> lanes_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace muster::msg
