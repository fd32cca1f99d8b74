// Which segments the two ends of one link, in one direction, both know.
//
// A descriptor travels once; after that a segment is named by its slot. A slot's number is not
// used again: announcement and use come by different ways, and who has not yet heard of the one
// must not take the other for what was there before.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "muster/arena/segment.h"
#include "muster/base/result.h"

namespace muster::arena {

inline constexpr std::size_t kMaxSlots = 4096;
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

// The sender's side. Keeps no segment alive.
class SentSegments {
 public:
  struct Slot {
    std::uint32_t number;
    bool is_new;  // The descriptor has to go along.
  };

  explicit SentSegments(std::size_t max_slots = kMaxSlots) : max_slots_(max_slots) {}

  // The slot of this memory. Code::overloaded if the peer has as many as it may.
  Result<Slot> slot_for(const std::shared_ptr<Segment>& segment);

  // Undoes a slot_for() whose descriptor could not be sent after all.
  void forget(std::uint32_t number);

  // Gives the slots of segments that are gone to `tell`, which says whether the peer was told to
  // drop them: its mapping is what keeps their memory. Of those it was not told of it is asked
  // again. To be called now and then; looks at every slot.
  template <class Tell>
  void tell_gone(Tell tell) {
    collect_gone();
    while (!gone_.empty() && tell(gone_.back())) gone_.pop_back();
  }

  std::size_t count() const { return by_key_.size(); }

 private:
  struct Entry {
    std::uint32_t number = 0;
    std::vector<std::weak_ptr<Segment>> segments;  // All that are this memory.

    bool is_gone() const;
  };

  void collect_gone();
  std::uint32_t next_number();

  std::size_t max_slots_;
  std::uint32_t next_ = 0;
  std::unordered_map<SegmentKey, Entry> by_key_;
  std::vector<std::uint32_t> gone_;  // Slots that the peer has still to be told of.
};

// The receiver's side. Keeps its segments mapped.
class ReceivedSegments {
 public:
  explicit ReceivedSegments(std::size_t max_slots = kMaxSlots) : max_slots_(max_slots) {}

  // Puts `segment` into a slot, in place of what was there; Buffers over that
  // stay good. Code::invalid if there are too many.
  Status put(std::uint32_t number, std::shared_ptr<Segment> segment);

  // Null if there is nothing in that slot: the peer is at fault.
  std::shared_ptr<Segment> find(std::uint32_t number) const;

  // Nothing happens if the slot is empty.
  void drop(std::uint32_t number);

  std::size_t count() const { return slots_.size(); }

 private:
  std::size_t max_slots_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Segment>> slots_;
};

}  // namespace muster::arena
