#include "muster/drivers/shm/ring.h"

#include <algorithm>
#include <utility>

#include <sched.h>

#include "muster/base/crash_point.h"

namespace muster::drivers::shm {
namespace {

using internal::stepped;
using internal::to_word;

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
  if (header_->wants_room.load(std::memory_order_seq_cst) == 0) return false;
  const bool must_ring = header_->wants_room.exchange(0, std::memory_order_seq_cst) != 0;
  MUSTER_CRASH_POINT();
  return must_ring;
}

void RingReader::arm() {
  header_->wants_ring.store(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
}

void RingReader::disarm() {
  header_->wants_ring.store(0, std::memory_order_relaxed);
  MUSTER_CRASH_POINT();
}

}  // namespace muster::drivers::shm
