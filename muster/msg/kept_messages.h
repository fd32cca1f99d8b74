// KeptMessages: what one peer is to handle at least once, until it has. Pure.
//
// They are sent in order within a priority, the more urgent first. While a link
// stands each is sent once; what a link that broke may have lost is sent again on
// the next, to whoever bears the name then.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/id.h"
#include "muster/base/result.h"
#include "muster/msg/outbox.h"
#include "muster/net/link_head.h"

namespace muster::msg {

// For each peer. When there is no more room, isend() says Code::overloaded, and
// calls that wait do so until the peer is done with some.
struct KeptLimits {
  std::size_t max_messages = std::size_t{1} << 16;
  std::size_t max_bytes = std::size_t{64} << 20;
  // Of replies to tasks that the peer has us handle, until it has heard them. One
  // for which there is no room may be lost with its link; who waits is told.
  std::size_t max_reply_bytes = std::size_t{16} << 20;
};

struct KeptMessage {
  OutgoingMessage message;
  TimePoint deadline = kForever;
  bool is_stored = true;       // May be sent.
  bool is_under_way = false;   // Or with the peer; on the link that stands.
  Id sent_to = {};             // The process that it was last sent to.
  bool may_have_come = false;  // To another one.
};

class KeptMessages {
 public:
  explicit KeptMessages(const KeptLimits& limits) : limits_(limits) {}

  // Code::overloaded if there is no room for it.
  Status push(const KeptMessage& kept);
  // The same, room or not, for what was kept before.
  void restore(KeptMessage kept) { add(std::move(kept)); }
  // The peer is done with it. None if it is not kept.
  std::optional<OutgoingMessage> remove(const MessageId& id);
  // Null if it is not kept.
  KeptMessage* find(const MessageId& id);
  // It is where it cannot be lost, and may be sent.
  void stored(const MessageId& id);

  // The link is no more; nothing is sent until the next begins.
  void link_broke();
  // A link to the process `receiver` begins, which has `held` and is done with
  // whatever was removed. The rest is to be sent.
  void link_began(const Id& receiver, const std::vector<MessageId>& held);
  // The next to be sent, null if there is none; sent() once it is under way.
  KeptMessage* next();
  void sent(KeptMessage& kept) { kept.is_under_way = true; }

  // What is due by now and not under way; it is kept no more.
  std::vector<OutgoingMessage> expire(TimePoint now);
  // No deadline of what is not under way is before this.
  TimePoint next_deadline() const { return earliest_; }
  // All of it, in order.
  std::vector<OutgoingMessage> take_all();

  bool empty() const { return places_.empty(); }
  std::size_t count() const { return places_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t under_way() const;

 private:
  struct Lane {
    std::map<std::uint64_t, KeptMessage> messages;  // In the order of their making.
    std::uint64_t next = 0;                         // None before this is to be sent.
  };
  struct Place {
    std::size_t lane;
    std::uint64_t number;
  };

  void add(KeptMessage kept);

  KeptLimits limits_;
  std::array<Lane, net::kPriorities> lanes_;
  std::unordered_map<MessageId, Place> places_;
  std::uint64_t last_number_ = 0;
  std::size_t bytes_ = 0;
  TimePoint earliest_ = kForever;  // Of what is not under way, or before that.
  std::optional<Id> receiver_;     // Of the link that stands.
};

}  // namespace muster::msg
