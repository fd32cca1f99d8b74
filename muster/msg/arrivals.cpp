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
  done_.push_back({id, std::move(refused)});
  return true;
}

void Arrivals::restore(const MessageId& id) {
  if (done_ids_.insert(id).second) done_.push_back({id});
}

DeliveryReport Arrivals::begin_link() {
  reported_ = 0;
  confirmed_ = 0;
  DeliveryReport report = unreported(done_.size());
  report.held.assign(held_.begin(), held_.end());
  std::ranges::sort(report.held);
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
    forgotten.push_back(done_.front().id);
    done_ids_.erase(done_.front().id);
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
  *this = Arrivals();
  return ids;
}

}  // namespace muster::msg
