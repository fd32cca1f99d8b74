#include "muster/msg/arrivals.h"

#include <algorithm>
#include <utility>

namespace muster::msg {

bool Arrivals::take(const MessageId& id) {
  return !done_ids_.contains(id) && held_.insert(id).second;
}

bool Arrivals::done(const MessageId& id, std::optional<Error> refused) {
  if (held_.erase(id) == 0) return false;
  done_ids_.insert(id);
  done_.push_back({id, std::move(refused), what_of_reply(id)});
  return true;
}

DoneMessage::Reply Arrivals::what_of_reply(const MessageId& id) const {
  if (replies_.contains(id)) return DoneMessage::Reply::kept;
  const auto once = unkept_.find(id);
  const bool is_lost = once != unkept_.end() && once->second < links_;
  return is_lost ? DoneMessage::Reply::lost : DoneMessage::Reply::none;
}

void Arrivals::restore(const MessageId& id, std::optional<OutgoingMessage> reply) {
  if (!done_ids_.insert(id).second) return;
  using Reply = DoneMessage::Reply;
  done_.push_back({id, std::nullopt, reply ? Reply::kept : Reply::lost});
  // Room or not: it was kept before.
  if (reply) answer(id, *std::move(reply), false);
}

bool Arrivals::has_room_for(const MessageId& id, const OutgoingMessage& reply) const {
  return held_.contains(id) && !replies_.contains(id) &&
         reply_bytes_ + reply.size() <= max_reply_bytes_;
}

void Arrivals::answer(const MessageId& id, OutgoingMessage reply, bool is_sent) {
  if (!is_sent) unsent_.push_back(id);
  reply_bytes_ += reply.size();
  reply.head.is_redelivered = true;  // Whoever hears it again.
  replies_.emplace(id, std::move(reply));
}

void Arrivals::answer_once(const MessageId& id, bool is_sent) {
  if (!held_.contains(id) && !done_ids_.contains(id)) return;
  unkept_.emplace(id, links_ + (is_sent ? 0 : 1));
}

const OutgoingMessage* Arrivals::reply_to(const MessageId& id) const {
  const auto found = replies_.find(id);
  return found != replies_.end() ? &found->second : nullptr;
}

const OutgoingMessage* Arrivals::next_reply() {
  while (!unsent_.empty()) {
    if (const OutgoingMessage* reply = reply_to(unsent_.front())) return reply;
    unsent_.pop_front();
  }
  return nullptr;
}

void Arrivals::forget_reply(const MessageId& id) {
  unkept_.erase(id);
  const auto found = replies_.find(id);
  if (found == replies_.end()) return;
  reply_bytes_ -= found->second.size();
  replies_.erase(found);
}

DeliveryReport Arrivals::begin_link() {
  reported_ = 0;
  confirmed_ = 0;
  ++links_;
  for (DoneMessage& one : done_) {
    if (unkept_.contains(one.id)) one.reply = what_of_reply(one.id);
  }
  DeliveryReport report = unreported(done_.size());
  report.held.assign(held_.begin(), held_.end());
  std::ranges::sort(report.held);
  unsent_.clear();
  for (const auto& [id, reply] : replies_) unsent_.push_back(id);
  // In the order in which they were given.
  std::ranges::sort(unsent_, {}, [this](const MessageId& id) { return replies_[id].head.message; });
  return report;
}

DeliveryReport Arrivals::unreported(std::size_t limit) const {
  const std::size_t count = std::min(limit, done_.size() - reported_);
  const auto first = done_.begin() + static_cast<std::ptrdiff_t>(reported_);
  return {.done = {first, first + static_cast<std::ptrdiff_t>(count)}, .held = {}};
}

bool Arrivals::confirm(std::uint32_t count, std::vector<MessageId>& forgotten) {
  const std::uint32_t more = count - confirmed_;
  // What a more urgent message has said meanwhile counts, not this one.
  if (static_cast<std::int32_t>(more) <= 0) return true;
  if (more > reported_) return false;
  for (std::uint32_t i = 0; i < more; ++i) {
    const MessageId id = done_.front().id;
    forgotten.push_back(id);
    done_ids_.erase(id);
    forget_reply(id);
    done_.pop_front();
  }
  reported_ -= more;
  confirmed_ = count;
  return true;
}

std::vector<MessageId> Arrivals::clear() {
  std::vector<MessageId> ids;
  ids.reserve(done_.size());
  for (const DoneMessage& done : done_) ids.push_back(done.id);
  std::unordered_set<MessageId> orphans = std::move(orphans_);
  orphans.merge(held_);
  *this = Arrivals(max_reply_bytes_);
  orphans_ = std::move(orphans);
  return ids;
}

}  // namespace muster::msg
