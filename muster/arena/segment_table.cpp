#include "muster/arena/segment_table.h"

#include <utility>

namespace muster::arena {

Result<SentSegments::Slot> SentSegments::slot_for(const std::shared_ptr<Segment>& segment) {
  if (const auto known = by_key_.find(segment->key()); known != by_key_.end()) {
    Entry& entry = entries_[known->second];
    // Once the segment is gone its key may mean other memory.
    const bool is_new = entry.segment.expired();
    if (is_new) entry.segment = segment;
    return Slot{known->second, is_new};
  }
  MUSTER_TRY(const std::uint32_t number, free_slot());
  entries_[number] = Entry{segment, segment->key(), true};
  by_key_.emplace(segment->key(), number);
  return Slot{number, true};
}

Result<std::uint32_t> SentSegments::free_slot() {
  if (free_.empty() && entries_.size() == max_slots_) {
    // Nobody needs to be told of these: each is replaced when used again.
    std::vector<std::uint32_t> gone;
    take_gone(gone);
    if (gone.empty()) {
      return Error(Code::overloaded, "too many segments are in use over one link");
    }
  }
  if (free_.empty()) {
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  return number;
}

void SentSegments::forget(std::uint32_t number) {
  if (number >= entries_.size() || !entries_[number].is_used) return;
  by_key_.erase(entries_[number].key);
  entries_[number] = {};
  free_.push_back(number);
}

void SentSegments::take_gone(std::vector<std::uint32_t>& numbers) {
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    if (!entries_[number].is_used || !entries_[number].segment.expired()) continue;
    forget(number);
    numbers.push_back(number);
  }
}

Status ReceivedSegments::put(std::uint32_t number, std::shared_ptr<Segment> segment) {
  if (number >= max_slots_) return Error(Code::invalid, "a peer named a slot that cannot be");
  if (number >= slots_.size()) slots_.resize(number + 1);
  if (slots_[number] == nullptr) ++count_;
  slots_[number] = std::move(segment);
  return ok();
}

std::shared_ptr<Segment> ReceivedSegments::find(std::uint32_t number) const {
  return number < slots_.size() ? slots_[number] : nullptr;
}

void ReceivedSegments::drop(std::uint32_t number) {
  if (number >= slots_.size() || slots_[number] == nullptr) return;
  slots_[number].reset();
  --count_;
}

}  // namespace muster::arena
