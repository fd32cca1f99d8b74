// Outbox: messages for a peer that is not there just now. Bounded; pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/msg/message.h"
#include "muster/msg/message_head.h"
#include "muster/wire/frame.h"

namespace muster::msg {

// What gives way when an outbox is full. Nothing is dropped without being told.
enum class DropPolicy : std::uint8_t {
  refuse,  // The new one, and the caller hears Code::overloaded.
  oldest,
  newest,  // The new one, though the caller hears that it was taken.
};

struct OutboxLimits {
  std::size_t max_messages = 1024;  // 0: messages for absent peers are refused.
  std::size_t max_bytes = std::size_t{64} << 20;
  DropPolicy policy = DropPolicy::refuse;
};

struct OutgoingMessage {
  MessageHead head;
  wire::Parts parts;
  Priority priority = Priority::normal;
  bool is_tracked = false;  // A session of ours waits for its answer.
  TimePoint deadline = kForever;

  std::size_t size() const {
    std::size_t sum = sizeof(OutgoingMessage);
    for (const Buffer& part : parts) sum += part.size();
    return sum;
  }
};

class Outbox {
 public:
  explicit Outbox(const OutboxLimits& limits) : limits_(limits) {}

  // Keeps `message`, at the cost of those that it gives in `dropped`, itself
  // perhaps. Code::overloaded if it is refused; it is untouched then.
  Status push(OutgoingMessage& message, std::vector<OutgoingMessage>& dropped);
  // The oldest; there must be one.
  const OutgoingMessage& front() const { return messages_.front(); }
  void pop();
  // All of it, in order.
  std::deque<OutgoingMessage> take_all();
  // Those whose deadline has come, in order.
  std::vector<OutgoingMessage> take_late(TimePoint now);
  // The earliest; kForever if none has one.
  TimePoint next_deadline() const;

  bool has_room_for(const OutgoingMessage& message) const { return fits(message.size()); }

  bool empty() const { return messages_.empty(); }
  std::size_t count() const { return messages_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  bool fits(std::size_t size) const {
    return messages_.size() < limits_.max_messages && bytes_ + size <= limits_.max_bytes;
  }

  OutboxLimits limits_;
  std::deque<OutgoingMessage> messages_;
  std::size_t bytes_ = 0;
};

}  // namespace muster::msg
