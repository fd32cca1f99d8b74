#include "muster/msg/backlog.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::msg {

OutgoingMessage Backlog::take_front(Lane& lane) {
  OutgoingMessage message = std::move(lane.front());
  lane.pop_front();
  bytes_ -= message.size();
  --count_;
  return message;
}

void Backlog::push(OutgoingMessage message, std::vector<OutgoingMessage>& dropped) {
  const std::size_t size = message.size();
  const auto own = static_cast<std::size_t>(message.priority);
  for (std::size_t lane = net::kPriorities; size <= max_bytes_ && lane-- > own;) {
    while (bytes_ + size > max_bytes_ && !lanes_[lane].empty()) {
      dropped.push_back(take_front(lanes_[lane]));
    }
  }
  if (bytes_ + size > max_bytes_) {
    dropped.push_back(std::move(message));
    return;
  }
  bytes_ += size;
  ++count_;
  lanes_[own].push_back(std::move(message));
}

OutgoingMessage* Backlog::next() {
  for (Lane& lane : lanes_) {
    if (!lane.empty()) return &lane.front();
  }
  return nullptr;
}

void Backlog::pop() {
  const auto lane = std::ranges::find_if(lanes_, [](const Lane& one) { return !one.empty(); });
  take_front(*lane);
}

std::vector<OutgoingMessage> Backlog::take_all() {
  std::vector<OutgoingMessage> all;
  all.reserve(count_);
  for (Lane& lane : lanes_) {
    while (!lane.empty()) all.push_back(take_front(lane));
  }
  // In the order in which they were numbered.
  std::ranges::sort(all, {}, [](const OutgoingMessage& one) { return one.head.message.low; });
  return all;
}

}  // namespace muster::msg
