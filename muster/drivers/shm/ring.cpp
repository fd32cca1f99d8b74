#include "muster/drivers/shm/ring.h"

#include <algorithm>
#include <cstring>

#include <sched.h>

#include "muster/base/crash_point.h"

namespace muster::drivers::shm {
namespace {

std::uint64_t head_word(std::size_t offset) {
  return static_cast<std::uint64_t>(sched_getcpu()) << 32 | offset;
}

}  // namespace

void RingWriter::read_tail() {
  // The reader's word. Whatever it holds is only ever compared with, so the
  // worst that a hostile reader can do is to lose its own records.
  tail_ = std::min<std::size_t>(header_->tail.load(std::memory_order_acquire), kRingCapacity);
}

// Makes head_ a place where `size` bytes fit. There is always room left for a
// wrap record behind, and head_ never catches up with tail_. Growing is for
// when tail_ is fresh, or the ring was full before.
bool RingWriter::find_room(std::size_t size, bool may_grow) {
  if (head_ < tail_) return head_ + size < tail_;
  if (head_ + size + kRecordHeader <= limit_) return true;
  if (may_grow && (was_full_ || size >= tail_) && limit_ < kRingCapacity) {
    // Too small for the traffic: use more of the memory.
    was_full_ = false;
    limit_ = std::min(kRingCapacity, std::max(2 * limit_, head_ + size + kRecordHeader));
    if (head_ + size + kRecordHeader <= limit_) return true;
  }
  if (size >= tail_) return false;
  const RecordHeader wrap{static_cast<std::uint32_t>(kRecordHeader), kWrapRecord, 0};
  std::memcpy(data_ + head_, &wrap, sizeof wrap);
  MUSTER_CRASH_POINT();
  head_ = 0;
  return true;
}

std::byte* RingWriter::begin(std::uint16_t kind, std::uint16_t note, std::size_t size) {
  const std::size_t whole = aligned(kRecordHeader + size);
  if (!find_room(whole, was_full_)) {
    read_tail();
    if (!find_room(whole, true)) {
      was_full_ = true;
      return nullptr;
    }
  }
  const RecordHeader header{static_cast<std::uint32_t>(whole), kind, note};
  std::memcpy(data_ + head_, &header, sizeof header);
  MUSTER_CRASH_POINT();
  pending_ = whole;
  return data_ + head_ + kRecordHeader;
}

void RingWriter::commit() {
  head_ += pending_;
  pending_ = 0;
  // The lines after this record will be written next; asking for them now
  // hides what it costs to take them from the reader.
  __builtin_prefetch(data_ + head_, 1);
  __builtin_prefetch(data_ + head_ + 64, 1);
}

bool RingWriter::publish() {
  published_ = head_;
  MUSTER_CRASH_POINT();
  // An exchange, not a store: it is also the full barrier between showing the
  // record and asking whether the reader sleeps.
  header_->head.exchange(head_word(head_), std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  return header_->wants_ring.load(std::memory_order_seq_cst) != 0;
}

bool RingWriter::ask_for_room(std::size_t size) {
  header_->wants_room.exchange(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  read_tail();
  if (!find_room(aligned(kRecordHeader + size), true)) return false;
  header_->wants_room.store(0, std::memory_order_relaxed);
  return true;
}

RingReader::Found RingReader::next(Record& record) {
  for (;;) {
    if (tail_ == head_ && !has_more()) return Found::nothing;
    if (tail_ + kRecordHeader > kRingCapacity) return Found::nonsense;
    RecordHeader header;
    std::memcpy(&header, data_ + tail_, sizeof header);
    if (header.kind == kWrapRecord) {
      // A wrap at the start would lead nowhere, for ever.
      if (tail_ == 0) return Found::nonsense;
      tail_ = 0;
      continue;
    }
    const std::size_t end = head_ > tail_ ? head_ : kRingCapacity;
    if (header.size < kRecordHeader || header.size % kRecordAlign != 0 ||
        header.size > end - tail_) {
      return Found::nonsense;
    }
    current_ = header.size;
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

bool RingReader::has_more() {
  const std::uint64_t word = header_->head.load(std::memory_order_acquire);
  // Bounds are checked where it is used; a bad one cannot lead outside.
  head_ = std::min<std::size_t>(word & 0xFFFFFFFF, kRingCapacity) & ~(kRecordAlign - 1);
  return head_ != tail_;
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
