#include "muster/drivers/shm/ring.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <sched.h>

#include "muster/base/crash_point.h"

namespace muster::drivers::shm {
namespace {

std::uint64_t to_word(RecordHeader header) { return std::bit_cast<std::uint64_t>(header); }

// The place that a record takes, of `size` bytes with its header.
std::size_t stepped(std::size_t size) { return (size + kRecordStep - 1) & ~(kRecordStep - 1); }

// Asks for the line at `place`, to write it: takes it from the reader early.
void fetch_to_write(const std::byte* place) {
#if defined(__x86_64__)
  // The builtin would ask for a copy to read unless built for a newer processor.
  asm volatile("prefetchw %0" : : "m"(*place));
#else
  __builtin_prefetch(place, 1);
#endif
}

}  // namespace

void RingWriter::read_tail() {
  // The reader's word. Whatever it holds is only ever compared with, so the
  // worst that a hostile reader can do is to lose its own records.
  tail_ = std::min<std::size_t>(header_->tail.load(std::memory_order_acquire), kRingCapacity);
}

// Makes head_ a place where `size` bytes fit. There is always room left for an
// empty header behind, and head_ never catches up with tail_. Growing is for
// when tail_ is fresh, or the ring was full before.
bool RingWriter::find_room(std::size_t size, bool may_grow) {
  if (head_ < tail_) return head_ + size < tail_;
  if (head_ + size + kRecordStep <= limit_) return true;
  if (may_grow && (was_full_ || size >= tail_) && limit_ < kRingCapacity) {
    // Too small for the traffic: use more of the memory.
    was_full_ = false;
    limit_ = std::min(kRingCapacity, std::max(2 * limit_, head_ + size + kRecordStep));
    if (head_ + size + kRecordStep <= limit_) return true;
  }
  if (size >= tail_) return false;
  wrapped_at_ = head_;
  head_ = 0;
  return true;
}

std::byte* RingWriter::begin(std::uint16_t kind, std::uint16_t note, std::size_t size) {
  const std::size_t whole = stepped(kRecordHeader + size);
  if (!find_room(whole, was_full_)) {
    read_tail();
    if (!find_room(whole, true)) {
      was_full_ = true;
      return nullptr;
    }
  }
  pending_ = {static_cast<std::uint32_t>(aligned(kRecordHeader + size)), kind, note};
  return data_ + head_ + kRecordHeader;
}

void RingWriter::commit() {
  const std::size_t next = head_ + stepped(pending_.size);
  // Where the reader stops, before it can come there.
  word_at(next).store(0, std::memory_order_relaxed);
  MUSTER_CRASH_POINT();
  if (has_unpublished()) word_at(last_at_).store(last_word_, std::memory_order_release);
  if (wrapped_at_ == kNowhere) {
    last_at_ = head_;
    last_word_ = to_word(pending_);
  } else {
    // The reader comes to this one only by the wrap, which is thus what shows it.
    word_at(head_).store(to_word(pending_), std::memory_order_relaxed);
    last_at_ = std::exchange(wrapped_at_, kNowhere);
    last_word_ = to_word({static_cast<std::uint32_t>(kRecordHeader), kWrapRecord, 0});
  }
  MUSTER_CRASH_POINT();
  head_ = next;
  // What will be written next: asking now hides what it costs to take it from
  // the reader, who has read it a lap ago.
  fetch_to_write(data_ + head_ + kRecordStep);
  fetch_to_write(data_ + head_ + 2 * kRecordStep);
}

bool RingWriter::publish() {
  if (!has_unpublished()) return false;
  const auto processor = static_cast<std::uint32_t>(sched_getcpu());
  if (processor != processor_) {
    processor_ = processor;
    header_->processor.store(processor, std::memory_order_relaxed);
  }
  MUSTER_CRASH_POINT();
  // An exchange, not a store: it is also the full barrier between showing the
  // record and asking whether the reader sleeps.
  word_at(std::exchange(last_at_, kNowhere)).exchange(last_word_, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  return header_->wants_ring.load(std::memory_order_seq_cst) != 0;
}

bool RingWriter::has_room(std::size_t size) {
  const std::size_t whole = stepped(kRecordHeader + size);
  if (find_room(whole, was_full_)) return true;
  read_tail();
  return find_room(whole, true);
}

bool RingWriter::ask_for_room(std::size_t size) {
  header_->wants_room.exchange(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  if (!has_room(size)) return false;
  header_->wants_room.store(0, std::memory_order_relaxed);
  return true;
}

RingReader::Found RingReader::next(Record& record) {
  for (;;) {
    const auto header = std::bit_cast<RecordHeader>(word_here());
    if (header.size == 0) return Found::nothing;
    if (header.kind == kWrapRecord) {
      // A wrap at the start would lead nowhere, for ever.
      if (tail_ == 0) return Found::nonsense;
      tail_ = 0;
      continue;
    }
    // There is always a header behind, to be looked at next.
    const std::size_t most = kRingCapacity - kRecordStep - tail_;
    if (header.size < kRecordHeader || header.size % kRecordAlign != 0 || header.size > most) {
      return Found::nonsense;
    }
    current_ = stepped(header.size);
    record = {
        header.kind, header.note, {data_ + tail_ + kRecordHeader, header.size - kRecordHeader}};
    return Found::record;
  }
}

void RingReader::pop() {
  tail_ += current_;
  unannounced_ += current_;
  current_ = 0;
  MUSTER_CRASH_POINT();
}

bool RingReader::publish() {
  published_ = tail_;
  unannounced_ = 0;
  header_->tail.exchange(static_cast<std::uint32_t>(tail_), std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  return header_->wants_room.load(std::memory_order_seq_cst) != 0 &&
         header_->wants_room.exchange(0, std::memory_order_seq_cst) != 0;
}

}  // namespace muster::drivers::shm
