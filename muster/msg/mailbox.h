// Mailbox: messages that have come and wait for receive(). Pure.
//
// The most urgent goes first, and within a priority who came first: order holds
// per sender and priority, and no sender starves another.

#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "muster/msg/incoming.h"
#include "muster/msg/ring_queue.h"
#include "muster/net/link_head.h"

namespace muster::msg {

class Mailbox {
 public:
  // From `limit` bytes or kMany messages on, is_full(): senders are to be held back.
  explicit Mailbox(std::size_t limit) : limit_(limit) {}

  // More would come to lie outside of the processor's caches, and cost their receiver
  // more than their sender gains.
  static constexpr std::size_t kMany = 1024;

  void push(IncomingPtr message) {
    bytes_ += message->size();
    ++count_;
    const auto priority = static_cast<std::size_t>(message->priority);
    queues_[priority].push(std::move(message));
  }
  // There must be one.
  IncomingPtr pop() {
    std::size_t priority = 0;
    while (queues_[priority].empty()) ++priority;
    IncomingPtr message = queues_[priority].pop();
    bytes_ -= message->size();
    --count_;
    return message;
  }

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }
  bool is_full() const { return bytes_ >= limit_ || count_ >= kMany; }

 private:
  const std::size_t limit_;
  std::array<RingQueue<IncomingPtr>, net::kPriorities> queues_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace muster::msg
