// Which segments the two ends of one link, in one direction, both know.
//
// A descriptor travels once; after that a segment is named by its slot.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "muster/arena/segment.h"
#include "muster/base/result.h"

namespace muster::arena {

inline constexpr std::uint32_t kMaxSlots = 4096;

// The sender's side. Keeps no segment alive.
class SentSegments {
 public:
  struct Slot {
    std::uint32_t number;
    bool is_new;  // The descriptor has to go along, and replaces what was there.
  };

  explicit SentSegments(std::uint32_t max_slots = kMaxSlots) : max_slots_(max_slots) {}

  // The slot of this memory. Code::overloaded if all slots are taken by
  // segments that are still there.
  Result<Slot> slot_for(const std::shared_ptr<Segment>& segment);

  // Undoes a slot_for() whose descriptor could not be sent after all, or
  // frees the slot of a segment that the peer has dropped.
  void forget(std::uint32_t number);

  // Appends the slots of segments that are gone, and frees them, so that the
  // peer can be told to drop them: its mapping is what keeps their memory. To
  // be called now and then; looks at every slot.
  void take_gone(std::vector<std::uint32_t>& numbers);

  std::size_t count() const { return by_key_.size(); }

 private:
  struct Entry {
    std::weak_ptr<Segment> segment;
    SegmentKey key;
    bool is_used = false;
  };

  Result<std::uint32_t> free_slot();

  std::uint32_t max_slots_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<SegmentKey, std::uint32_t> by_key_;
};

// The receiver's side. Keeps its segments mapped.
class ReceivedSegments {
 public:
  explicit ReceivedSegments(std::uint32_t max_slots = kMaxSlots) : max_slots_(max_slots) {}

  // Puts `segment` into a slot, in place of what was there; Buffers over that
  // stay good. Code::invalid for a slot number out of range.
  Status put(std::uint32_t number, std::shared_ptr<Segment> segment);

  // Null if there is nothing in that slot: the peer is at fault.
  std::shared_ptr<Segment> find(std::uint32_t number) const;

  // Nothing happens if the slot is empty.
  void drop(std::uint32_t number);

  std::size_t count() const { return count_; }

 private:
  std::uint32_t max_slots_;
  std::vector<std::shared_ptr<Segment>> slots_;
  std::size_t count_ = 0;
};

}  // namespace muster::arena
