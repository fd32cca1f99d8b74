#include "muster/msg/outbox.h"

#include <algorithm>
#include <utility>

namespace muster::msg {

Status Outbox::push(OutgoingMessage& message, std::vector<OutgoingMessage>& dropped) {
  const std::size_t size = message.size();
  if (!fits(size) && limits_.policy == DropPolicy::refuse) {
    return Error(Code::overloaded, "the cache for this absent peer is full; wait for its return");
  }
  // One that can never fit is dropped itself, not all others for nothing.
  const bool can_fit = limits_.max_messages > 0 && size <= limits_.max_bytes;
  if (!fits(size) && (limits_.policy == DropPolicy::newest || !can_fit)) {
    dropped.push_back(std::move(message));
    return ok();
  }
  while (!fits(size)) {
    dropped.push_back(messages_.front());
    pop();
  }
  bytes_ += size;
  messages_.push_back(std::move(message));
  return ok();
}

void Outbox::pop() {
  bytes_ -= messages_.front().size();
  messages_.pop_front();
}

std::vector<OutgoingMessage> Outbox::take_late(TimePoint now) {
  std::vector<OutgoingMessage> late;
  for (OutgoingMessage& message : take_all()) {
    if (message.deadline <= now) {
      late.push_back(std::move(message));
      continue;
    }
    bytes_ += message.size();
    messages_.push_back(std::move(message));
  }
  return late;
}

TimePoint Outbox::next_deadline() const {
  TimePoint next = kForever;
  for (const OutgoingMessage& message : messages_) next = std::min(next, message.deadline);
  return next;
}

std::deque<OutgoingMessage> Outbox::take_all() {
  bytes_ = 0;
  return std::exchange(messages_, {});
}

}  // namespace muster::msg
