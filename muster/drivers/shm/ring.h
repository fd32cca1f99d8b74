// A ring in shared memory: one process writes records, another reads them.
//
// Neither trusts the other. A record's own header says that it is there: it is
// written last, so that a reader that waits looks at the very line that the
// next record begins with, and one that is behind takes nothing from the
// writer. A header is read once, then checked, and every offset is held against
// the ring's bounds. After each record stands an empty header, where the reader
// stops.
//
// The ring is mapped at its full size but starts by using little of it: the
// writer wraps early and uses more only when it finds the ring full, so that a
// thousand idle links cost pages for none.

#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace muster::drivers::shm {

// The header of a ring, at the start of the shared memory.
struct RingHeader {
  // The writer's line. It tells where it runs, so that a reader that polls
  // knows whether the writer needs its own processor.
  alignas(64) std::atomic<std::uint32_t> processor{0};
  std::atomic<std::uint32_t> wants_room{0};  // It does not poll: ring when there is room.
  // The reader's line.
  alignas(64) std::atomic<std::uint32_t> tail{0};
  std::atomic<std::uint32_t> wants_ring{0};  // It does not poll: a doorbell is needed.
};

inline constexpr std::size_t kRingHeaderSize = 4096;  // The rest of the page is the driver's.
inline constexpr std::size_t kRingCapacity = std::size_t{1} << 20;
inline constexpr std::size_t kRingFirstLimit = std::size_t{64} << 10;
inline constexpr std::size_t kRecordAlign = 8;
inline constexpr std::size_t kRecordHeader = 8;
// Records begin at cache lines, so that a writer does not disturb a reader that
// is one record behind.
inline constexpr std::size_t kRecordStep = 64;

// What a record is begun with, in one word.
struct RecordHeader {
  std::uint32_t size = 0;  // With this header, a multiple of kRecordAlign; 0: nothing here yet.
  std::uint16_t kind = 0;
  std::uint16_t note = 0;
};
inline constexpr std::uint16_t kWrapRecord = 0;  // The rest up to the end is unused.

inline std::size_t aligned(std::size_t size) {
  return (size + kRecordAlign - 1) & ~(kRecordAlign - 1);
}

namespace internal {

inline std::uint64_t to_word(RecordHeader header) { return std::bit_cast<std::uint64_t>(header); }

// The place that a record takes, of `size` bytes with its header.
inline std::size_t stepped(std::size_t size) {
  return (size + kRecordStep - 1) & ~(kRecordStep - 1);
}

}  // namespace internal

class RingWriter {
 public:
  // `data` has kRingCapacity bytes; both outlive the writer.
  RingWriter(RingHeader& header, std::byte* data) : header_(&header), data_(data) {}

  // Room for a record whose body has `size` bytes, or null if the ring is
  // full. The body is written by the caller, then commit() follows.
  std::byte* begin(std::uint16_t kind, std::uint16_t note, std::size_t size);
  // The record is whole. The reader may see all but the last that was committed.
  void commit();

  // Shows the reader all that was committed. True if it must be rung.
  bool publish();
  bool has_unpublished() const { return last_at_ != kNowhere; }

  // True if a record with such a body fits by now.
  bool has_room(std::size_t size);
  // Asks the reader to ring once there is room. True if there is room already.
  bool ask_for_room(std::size_t size);

  // The largest body that ever fits.
  static constexpr std::size_t kLargestBody = kRingCapacity / 4;

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;

  bool find_room(std::size_t size, bool may_grow);
  void read_tail();
  std::atomic_ref<std::uint64_t> word_at(std::size_t offset) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(data_ + offset));
  }

  RingHeader* header_;
  std::byte* data_;
  std::size_t head_ = 0;               // Where the next record goes.
  std::size_t wrapped_at_ = kNowhere;  // Where the wrap is to be told that led to head_.
  RecordHeader pending_;               // Of the record that was begun.
  std::size_t last_at_ = kNowhere;     // Where the reader shall find what was committed last,
  std::uint64_t last_word_ = 0;        // and what shall stand there.
  std::size_t tail_ = 0;               // As last read.
  std::size_t limit_ = kRingFirstLimit;
  std::uint32_t processor_ = 0;
  bool was_full_ = false;  // Since it last grew.
};

class RingReader {
 public:
  RingReader(RingHeader& header, const std::byte* data) : header_(&header), data_(data) {}

  struct Record {
    std::uint16_t kind = 0;
    std::uint16_t note = 0;
    std::span<const std::byte> body;  // In shared memory: copy before checking.
  };

  enum class Found : std::uint8_t {
    nothing,
    record,
    nonsense,  // What no honest writer leaves.
  };
  // Looks at the next record.
  Found next(Record& record);
  // The record that next() gave is done with.
  void pop();

  // True if there is something, as far as one look tells.
  bool has_more() const { return word_here() != 0; }

  // Tells the writer how far we are. True if it waits for room and must be rung.
  bool publish();
  bool has_unpublished() const { return tail_ != published_; }
  // So much has been read that the writer should hear of it, even if more is there.
  bool is_behind() const { return unannounced_ >= kRingFirstLimit / 4; }
  // Nothing is there to read: the writer should hear of this much.
  bool is_behind_when_dry() const {
    return unannounced_ >= kRingFirstLimit / 16 ||
           header_->wants_room.load(std::memory_order_relaxed) != 0;
  }

  // From now on the writer rings, or does not. The caller looks again after arm().
  void arm();
  void disarm();

  // The processor that the writer last ran on.
  std::uint32_t writer_processor() const {
    return header_->processor.load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t word_here() const {
    // Only ever loaded, so the const that is cast away is kept.
    auto* const word = reinterpret_cast<const std::uint64_t*>(data_ + tail_);
    return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_seq_cst);
  }

  RingHeader* header_;
  const std::byte* data_;
  std::size_t tail_ = 0;
  std::size_t published_ = 0;
  std::size_t current_ = 0;  // Steps of the record that next() gave, in bytes.
  std::size_t unannounced_ = 0;
};

// What every small message does is inline, so that it costs no calls; but for what
// has crash points, which cannot lie in inline functions.

// Makes head_ a place where `size` bytes fit. There is always room left for an
// empty header behind, and head_ never catches up with tail_. Growing is for
// when tail_ is fresh, or the ring was full before.
inline bool RingWriter::find_room(std::size_t size, bool may_grow) {
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

inline std::byte* RingWriter::begin(std::uint16_t kind, std::uint16_t note, std::size_t size) {
  const std::size_t whole = internal::stepped(kRecordHeader + size);
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

inline RingReader::Found RingReader::next(Record& record) {
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
    current_ = internal::stepped(header.size);
    record = {
        header.kind, header.note, {data_ + tail_ + kRecordHeader, header.size - kRecordHeader}};
    return Found::record;
  }
}

}  // namespace muster::drivers::shm
