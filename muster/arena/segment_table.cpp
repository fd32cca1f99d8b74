#include "muster/arena/segment_table.h"

#include <algorithm>
#include <utility>

namespace muster::arena {

bool SentSegments::Entry::is_gone() const {
  return std::ranges::all_of(segments, [](const auto& segment) { return segment.expired(); });
}

Result<SentSegments::Slot> SentSegments::slot_for(const std::shared_ptr<Segment>& segment) {
  if (const auto known = by_key_.find(segment->key()); known != by_key_.end()) {
    Entry& entry = known->second;
    // Once the segment is gone its key may mean other memory.
    if (!entry.is_gone()) {
      const auto is_this = [&](const auto& one) {
        return !one.owner_before(segment) && !segment.owner_before(one);
      };
      if (std::ranges::none_of(entry.segments, is_this)) {
        std::erase_if(entry.segments, [](const auto& one) { return one.expired(); });
        entry.segments.push_back(segment);
      }
      return Slot{entry.number, false};
    }
    collect_gone();
  }
  if (by_key_.size() + gone_.size() >= max_slots_) collect_gone();
  if (by_key_.size() + gone_.size() >= max_slots_) {
    return Error(Code::overloaded, "too many segments are in use over one link");
  }
  const std::uint32_t number = next_number();
  by_key_.emplace(segment->key(), Entry{number, {segment}});
  return Slot{number, true};
}

// Those of 2^32 segments ago the peer does not know any more, but for what is still there.
std::uint32_t SentSegments::next_number() {
  const auto is_taken = [this](std::uint32_t number) {
    return number == kNoSlot || std::ranges::find(gone_, number) != gone_.end() ||
           std::ranges::any_of(by_key_,
                               [&](const auto& entry) { return entry.second.number == number; });
  };
  while (is_taken(next_)) ++next_;
  return next_++;
}

void SentSegments::forget(std::uint32_t number) {
  std::erase_if(by_key_, [&](const auto& entry) { return entry.second.number == number; });
}

void SentSegments::collect_gone() {
  std::erase_if(by_key_, [this](const auto& entry) {
    if (!entry.second.is_gone()) return false;
    gone_.push_back(entry.second.number);
    return true;
  });
}

Status ReceivedSegments::put(std::uint32_t number, std::shared_ptr<Segment> segment) {
  if (slots_.size() >= max_slots_ && !slots_.contains(number)) {
    return Error(Code::invalid, "a peer named more segments than there may be");
  }
  slots_[number] = std::move(segment);
  return ok();
}

std::shared_ptr<Segment> ReceivedSegments::find(std::uint32_t number) const {
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : found->second;
}

void ReceivedSegments::drop(std::uint32_t number) { slots_.erase(number); }

}  // namespace muster::arena
