// Arrivals: what has come from one peer to be handled at least once. Pure.
//
// A message comes once to one incarnation: when a link begins the sender is told
// what is here and what is done, and sends only the rest. What is done is
// remembered until the sender has heard of it, which it counts in all that it
// says (MessageHead::heard); so there is never more than the sender keeps.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "muster/msg/delivery_report.h"

namespace muster::msg {

class Arrivals {
 public:
  // False if it has come before: it is here, or done.
  bool take(const MessageId& id);
  // It was handled, or will not be. False if it is not here.
  bool done(const MessageId& id, std::optional<Error> refused = std::nullopt);
  // It was done by an incarnation before this one.
  void restore(const MessageId& id);

  // A link begins: what the sender is to be told first.
  DeliveryReport begin_link();
  // What it is to be told next, if anything; told() once that was sent.
  DeliveryReport unreported(std::size_t limit) const;
  bool has_unreported() const { return reported_ < done_.size(); }
  void told(std::size_t count) { reported_ += count; }
  // The sender has heard of `count` since the link began, and they are
  // forgotten: into `forgotten`. False if it was not told of so many.
  bool confirm(std::uint32_t count, std::vector<MessageId>& forgotten);

  // The sender is gone for good: all that was done, which is forgotten.
  std::vector<MessageId> clear();

  std::size_t held() const { return held_.size(); }
  std::size_t unconfirmed() const { return done_.size(); }

 private:
  std::unordered_set<MessageId> held_;
  std::unordered_set<MessageId> done_ids_;
  std::deque<DoneMessage> done_;  // In the order in which the sender hears of it.
  std::size_t reported_ = 0;      // Of these, from the front, on the link that stands,
  std::uint32_t confirmed_ = 0;   // and before these.
};

}  // namespace muster::msg
