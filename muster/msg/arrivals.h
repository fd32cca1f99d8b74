// Arrivals: what has come from one peer to be handled at least once. Pure.
//
// A message comes once to one incarnation: when a link begins the sender is told
// what is here and what is done, and sends only the rest. What is done is
// remembered until the sender has heard of it, which it counts in all that it
// says (MessageHead::heard); so there is never more than the sender keeps. So long
// the reply to a task is kept too, and said again on each link.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "muster/msg/delivery_report.h"
#include "muster/msg/outbox.h"

namespace muster::msg {

class Arrivals {
 public:
  // Replies are kept as long as all of them have at most so many bytes.
  explicit Arrivals(std::size_t max_reply_bytes = std::size_t{16} << 20)
      : max_reply_bytes_(max_reply_bytes) {}

  // False if it has come before: it is here, or done.
  bool take(const MessageId& id);
  // It was handled, or will not be. False if it is not here.
  bool done(const MessageId& id, std::optional<Error> refused = std::nullopt);
  // It was done by an incarnation before this one, which has left its reply or not.
  void restore(const MessageId& id, std::optional<OutgoingMessage> reply = std::nullopt);

  // Whether the reply to `id`, which is here, can be kept.
  bool has_room_for(const MessageId& id, const OutgoingMessage& reply) const;
  // Keeps it. Unless it is sent, next_reply() gives it.
  void answer(const MessageId& id, OutgoingMessage reply, bool is_sent);
  // It is not kept, but has gone out on the link that stands, or goes on the next;
  // on one that follows it is lost.
  void answer_once(const MessageId& id, bool is_sent);
  // The one that was kept, or null.
  const OutgoingMessage* reply_to(const MessageId& id) const;
  // The next that the link that stands has not had, or null; reply_sent() once it has.
  const OutgoingMessage* next_reply();
  void reply_sent() { unsent_.pop_front(); }

  // A link begins: what the sender is to be told first.
  DeliveryReport begin_link();
  // What it is to be told next, if anything; told() once that was sent.
  DeliveryReport unreported(std::size_t limit) const;
  bool has_unreported() const { return reported_ < done_.size(); }
  void told(std::size_t count) { reported_ += count; }
  // The sender has heard of `count` since the link began, and they are
  // forgotten: into `forgotten`. False if it was not told of so many.
  bool confirm(std::uint32_t count, std::vector<MessageId>& forgotten);

  // Nobody will send any of it again: all that was done, which is forgotten. What is here
  // is nobody's from now on.
  std::vector<MessageId> clear();
  // The same as done() of what is nobody's.
  bool done_for_nobody(const MessageId& id) { return orphans_.erase(id) > 0; }

  // Nothing that has come is here, or done without the sender's knowing.
  bool empty() const { return held_.empty() && done_.empty(); }
  bool is_done(const MessageId& id) const { return done_ids_.contains(id); }
  std::size_t held() const { return held_.size(); }
  std::size_t unconfirmed() const { return done_.size(); }
  std::size_t replies() const { return replies_.size(); }

 private:
  DoneMessage::Reply what_of_reply(const MessageId& id) const;
  void forget_reply(const MessageId& id);

  std::size_t max_reply_bytes_;
  std::unordered_set<MessageId> held_;
  std::unordered_set<MessageId> orphans_;
  std::unordered_set<MessageId> done_ids_;
  std::deque<DoneMessage> done_;  // In the order in which the sender hears of it.
  std::size_t reported_ = 0;      // Of these, from the front, on the link that stands,
  std::uint32_t confirmed_ = 0;   // and before these.
  std::unordered_map<MessageId, OutgoingMessage> replies_;  // By what they answer.
  std::size_t reply_bytes_ = 0;
  std::unordered_map<MessageId, std::uint64_t> unkept_;  // Those it had no room for, by link.
  std::uint64_t links_ = 0;                              // That have begun.
  std::deque<MessageId> unsent_;  // Whose replies the link that stands is to have.
};

}  // namespace muster::msg
