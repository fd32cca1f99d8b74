#include "muster/msg/kept_messages.h"

#include <algorithm>
#include <utility>

namespace muster::msg {

Status KeptMessages::push(const KeptMessage& kept) {
  if (count() >= limits_.max_messages || bytes_ + kept.message.size() > limits_.max_bytes) {
    return Error(Code::overloaded,
                 "too much waits to be handled by this peer; wait until it is done with some");
  }
  add(kept);
  return ok();
}

void KeptMessages::add(KeptMessage kept) {
  const auto lane = static_cast<std::size_t>(kept.message.priority);
  const std::uint64_t number = ++last_number_;
  bytes_ += kept.message.size();
  earliest_ = std::min(earliest_, kept.deadline);
  places_.emplace(kept.message.head.message, Place{lane, number});
  lanes_[lane].messages.emplace_hint(lanes_[lane].messages.end(), number, std::move(kept));
}

KeptMessage* KeptMessages::find(const MessageId& id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return nullptr;
  return &lanes_[place->second.lane].messages.at(place->second.number);
}

std::optional<OutgoingMessage> KeptMessages::remove(const MessageId& id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return std::nullopt;
  auto& messages = lanes_[place->second.lane].messages;
  const auto kept = messages.find(place->second.number);
  OutgoingMessage message = std::move(kept->second.message);
  bytes_ -= message.size();
  messages.erase(kept);
  places_.erase(place);
  return message;
}

void KeptMessages::stored(const MessageId& id) {
  if (KeptMessage* kept = find(id)) kept->is_stored = true;
}

void KeptMessages::link_broke() {
  receiver_.reset();
  for (Lane& lane : lanes_) {
    lane.next = 0;
    for (auto& [number, kept] : lane.messages) {
      kept.is_under_way = false;
      earliest_ = std::min(earliest_, kept.deadline);
    }
  }
}

void KeptMessages::link_began(const Id& receiver, const std::vector<MessageId>& held) {
  link_broke();
  receiver_ = receiver;
  for (const MessageId& id : held) {
    KeptMessage* kept = find(id);
    if (kept == nullptr) continue;
    kept->is_under_way = true;
    kept->sent_to = receiver;
  }
}

KeptMessage* KeptMessages::next() {
  if (!receiver_) return nullptr;
  for (Lane& lane : lanes_) {
    auto at = lane.messages.lower_bound(lane.next);
    while (at != lane.messages.end() && at->second.is_under_way) ++at;
    lane.next = at != lane.messages.end() ? at->first : last_number_ + 1;
    if (at == lane.messages.end() || !at->second.is_stored) continue;
    KeptMessage& kept = at->second;
    kept.may_have_come |= kept.sent_to && kept.sent_to != *receiver_;
    kept.sent_to = *receiver_;
    return &kept;
  }
  return nullptr;
}

std::vector<OutgoingMessage> KeptMessages::expire(TimePoint now) {
  if (now < earliest_) return {};
  std::vector<MessageId> due;
  earliest_ = kForever;
  for (const Lane& lane : lanes_) {
    for (const auto& [number, kept] : lane.messages) {
      if (kept.is_under_way) continue;
      if (kept.deadline <= now) {
        due.push_back(kept.message.head.message);
      } else {
        earliest_ = std::min(earliest_, kept.deadline);
      }
    }
  }
  std::vector<OutgoingMessage> expired;
  expired.reserve(due.size());
  for (const MessageId& id : due) expired.push_back(*remove(id));
  return expired;
}

std::vector<OutgoingMessage> KeptMessages::take_all() {
  std::map<std::uint64_t, OutgoingMessage> all;
  for (Lane& lane : lanes_) {
    for (auto& [number, kept] : lane.messages) all.emplace(number, std::move(kept.message));
    lane.messages.clear();
  }
  places_.clear();
  bytes_ = 0;
  std::vector<OutgoingMessage> messages;
  messages.reserve(all.size());
  for (auto& [number, message] : all) messages.push_back(std::move(message));
  return messages;
}

std::size_t KeptMessages::under_way() const {
  std::size_t count = 0;
  for (const Lane& lane : lanes_) {
    count += static_cast<std::size_t>(std::ranges::count_if(
        lane.messages, [](const auto& one) { return one.second.is_under_way; }));
  }
  return count;
}

}  // namespace muster::msg
