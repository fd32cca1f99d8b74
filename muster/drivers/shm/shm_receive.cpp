// The receiving half of a link: from records to frames.

#include <array>
#include <cstring>

#include "muster/base/copy_bytes.h"
#include "muster/base/crash_point.h"
#include "muster/drivers/shm/shm_connection.h"
#include "muster/drivers/shm/small_record.h"
#include "muster/drivers/shm/streaming_copy.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::shm {
namespace {

constexpr int kBurst = 64;             // Records per look, so that no link starves others.
constexpr int kBatchWeight = 32;       // As so many records a batch counts.
constexpr std::size_t kLookAhead = 3;  // Direct copies under way at a time.
// From here on a copy would push out of the cache more than it brings in.
constexpr std::size_t kStreamFrom = std::size_t{64} << 10;

}  // namespace

bool ShmConnection::next_is_direct() {
  RingReader::Record record;
  return reader_->next(record) == RingReader::Found::record && record.kind == kFrameRecord &&
         record.note == kHasDirect;
}

WritableBuffer ShmConnection::memory_for(const wire::Head& head, std::size_t part,
                                         std::uint64_t size) {
  if (size >= net::kLargePart) {
    WritableBuffer given = sink_->place(head, part, size);
    if (given.size() == size) return given;
  }
  return hub_.pool().take(size);
}

// By far the most frames: all of it in the record, and small. False if this is
// none of those; nothing has happened then. `frame` is empty before.
inline bool ShmConnection::read_small_frame(std::span<const std::byte> body, wire::Frame& frame) {
  std::array<std::uint32_t, kSmallParts> sizes;
  std::size_t count = 0;
  const std::size_t at = read_small_record(body, frame.head, sizes, count);
  if (at == 0) return false;
  const std::size_t inside = body.size() - at;
  if (count > 0) {
    WritableBuffer block = hub_.pool().take(inside);
    if (block.data() == nullptr) return false;
    copy_bytes(block.data(), body.data() + at, inside);
    if (count == 1) {
      frame.parts.push_back(std::move(block).freeze(sizes[0]));
    } else {
      const Buffer joined = std::move(block).freeze();
      std::size_t offset = 0;
      for (std::size_t i = 0; i < count; ++i) {
        frame.parts.push_back(joined.slice(offset, sizes[i]));
        offset += aligned(sizes[i]);
      }
    }
  }
  return true;
}

// `frame` is empty afterwards.
inline void ShmConnection::deliver(wire::Frame& frame) {
  sink_->on_frame(frame);
  frame.parts.clear();
}

Status ShmConnection::take_batch(std::span<const std::byte> body, wire::Frame& frame) {
  wire::Head before;  // What the sink leaves of the frame's own is not known.
  // Who is told of a frame may end the connection, and with it the ring.
  while (!body.empty() && !has_ended_) {
    if (Batch::take_brief(body, hub_.pool(), before, frame)) {
      deliver(frame);
      continue;
    }
    const std::span<const std::byte> record = Batch::take(body);
    if (read_small_frame(record, frame)) {
      before.assign(frame.head.bytes());
      deliver(frame);
      continue;
    }
    MUSTER_TRY_OK(take_frame(record));
    before.resize(0);
    // What follows would overtake it.
    if (!incoming_.empty()) return Error(Code::invalid, "a direct copy in a batch");
  }
  return ok();
}

inline Status ShmConnection::take_record(const RingReader::Record& record, wire::Frame& small) {
  switch (record.kind) {
    case kFrameRecord:
      if (!read_small_frame(record.body, small)) return take_frame(record.body);
      deliver(small);
      return ok();
    case kBatchRecord: return take_batch(record.body, small);
    case kReleaseRecord: return take_releases(record.body);
    case kAbilitiesRecord: peer_abilities_ = record.note; return ok();
    default: return Error(Code::invalid, "a record of unknown kind in a ring");
  }
}

bool ShmConnection::drain() {
  bool busy = false;
  wire::Frame small;  // One for all of them: to make it costs as much as to fill it.
  for (int burst = kBurst; burst > 0 && !has_ended_;) {
    if (!incoming_.empty()) {
      const Result<bool> moved = advance_incoming();
      if (!moved) {
        fail(moved.error());
        return true;
      }
      busy |= *moved;
      if (has_ended_) return true;
      // Frames stay in order: only further copies may begin before this one ends.
      if (!incoming_.empty() && (incoming_.size() >= kLookAhead || !next_is_direct())) break;
    }
    RingReader::Record record;
    const RingReader::Found found = reader_->next(record);
    if (found == RingReader::Found::nothing) {
      if (reader_->is_behind_when_dry()) publish_progress();
      break;
    }
    busy = true;
    burst -= record.kind == kBatchRecord ? kBatchWeight : 1;
    gathering_.was_read();
    const Status taken = found == RingReader::Found::record
                             ? take_record(record, small)
                             : Error(Code::invalid, "the peer's ring holds nonsense");
    if (!taken) {
      fail(taken.error());
      return true;
    }
    reader_->pop();
    // At once: the writer of a large body goes on while we read.
    if (!has_ended_ && reader_->is_behind()) publish_progress();
  }
  return busy;
}

Status ShmConnection::take_frame(std::span<const std::byte> body) {
  Incoming incoming;
  wire::Frame& frame = incoming.frame;
  MUSTER_TRY(const std::size_t at, read_frame_record(body, frame.head, read_plans_));
  MUSTER_TRY_OK(copy_inside(body.subspan(at), frame));
  const std::size_t part_count = frame.parts.size();
  std::vector<WritableBuffer> targets;
  for (std::size_t i = 0; i < read_plans_.size(); ++i) {
    const PartPlan& plan = read_plans_[i];
    if (has_ended_) return Error(Code::cancelled, "closed by who was asked for memory");
    if (plan.how == How::reference) {
      MUSTER_TRY(frame.parts[i], take_reference(plan));
    } else if (plan.how == How::direct) {
      MUSTER_TRY(WritableBuffer target, find_target(plan, i, frame));
      targets.push_back(std::move(target));
    }
  }
  // Not before nothing can fail any more: from here on the peer may write there.
  for (std::size_t i = 0, next = 0; next < targets.size(); ++i) {
    const PartPlan& plan = read_plans_[i];
    if (plan.how != How::direct) continue;
    std::byte* const data = targets[next].data();
    incoming.fetches.push_back({i, std::move(targets[next++]),
                                DirectFetch(peer_cell(plan.slot), plan.place, data, plan.size)});
  }
  if (incoming.fetches.empty()) {
    sink_->on_frame(frame);
    return ok();
  }
  if (read_plans_.size() > part_count) {
    for (std::size_t i = 0; i < part_count; ++i) {
      if (read_plans_[i].how == How::bundled) {
        incoming.bundled.push_back({i, read_plans_[i].size});
      }
    }
  }
  incoming_.push_back(std::move(incoming));
  ring_peer();  // The peer can help from now on.
  return ok();
}

// Gives the frame its parts: those that came inside, and places for the others.
Status ShmConnection::copy_inside(std::span<const std::byte> inside, wire::Frame& frame) {
  std::size_t small = 0;
  std::size_t part_count = 0;
  for (const PartPlan& plan : read_plans_) {
    if (plan.how == How::inside && plan.size < net::kLargePart) small += aligned(plan.size);
    if (plan.how == How::bundled) part_count = read_plans_.size() - 1;
  }
  if (part_count == 0) part_count = read_plans_.size();
  // All small parts share one block of memory.
  WritableBuffer block = small > 0 ? hub_.pool().take(small) : WritableBuffer();
  if (small > 0 && block.data() == nullptr) return Error(Code::overloaded, "no memory for a frame");
  const std::byte* from = inside.data();
  std::byte* to = block.data();
  std::vector<WritableBuffer> large;
  for (std::size_t i = 0; i < part_count; ++i) {
    const PartPlan& plan = read_plans_[i];
    if (plan.how != How::inside) continue;
    if (plan.size < net::kLargePart) {
      if (plan.size > 0) std::memcpy(to, from, plan.size);
      to += aligned(plan.size);
    } else {
      WritableBuffer memory = memory_for(frame.head, i, plan.size);
      if (memory.data() == nullptr) return Error(Code::overloaded, "no memory for a frame");
      if (plan.size >= kStreamFrom && streaming_pays()) {
        streaming_copy(memory.data(), from, plan.size);
      } else {
        std::memcpy(memory.data(), from, plan.size);
      }
      large.push_back(std::move(memory));
    }
    from += aligned(plan.size);
  }
  const Buffer joined = std::move(block).freeze();
  std::size_t offset = 0;
  std::size_t next_large = 0;
  for (std::size_t i = 0; i < part_count; ++i) {
    const PartPlan& plan = read_plans_[i];
    if (plan.how != How::inside || plan.size == 0) {
      frame.parts.push_back(Buffer());
    } else if (plan.size >= net::kLargePart) {
      frame.parts.push_back(std::move(large[next_large++]).freeze());
    } else {
      frame.parts.push_back(joined.slice(offset, plan.size));
      offset += aligned(plan.size);
    }
  }
  return ok();
}

Result<Buffer> ShmConnection::take_reference(const PartPlan& plan) {
  // Least of all a handshake, which is read more than once.
  if (plan.size < net::kReferenceFrom) {
    return Error(Code::invalid, "a reference to a part that is to be copied");
  }
  std::shared_ptr<arena::Segment> segment = received_.find(plan.slot);
  if (segment == nullptr) {
    // Its descriptor was sent before this record, so it is there.
    if (Status read = read_notices(); !read) peers_end_ = std::move(read).error();
    segment = received_.find(plan.slot);
  }
  if (segment == nullptr) return Error(Code::invalid, "a body in a segment that never came");
  return make_remote_buffer(std::move(segment), plan.place, plan.size, releases_, plan.handle);
}

// Where a part, or a bundle of them, that is copied directly shall go.
Result<WritableBuffer> ShmConnection::find_target(const PartPlan& plan, std::size_t part,
                                                  const wire::Frame& frame) {
  if (plan.slot >= kDirectCells) return Error(Code::invalid, "a direct copy without a cell");
  if ((abilities_ & kMayRead) == 0) {
    return Error(Code::invalid, "a direct copy that this side did not agree to");
  }
  const bool is_bundle = part == frame.parts.size();
  WritableBuffer target =
      is_bundle ? hub_.pool().take(plan.size) : memory_for(frame.head, part, plan.size);
  if (target.data() == nullptr) return Error(Code::overloaded, "no memory for a frame");
  if (has_ended_) return Error(Code::cancelled, "closed by who was asked for memory");
  return target;
}

// True if a piece was copied or a frame delivered.
Result<bool> ShmConnection::advance_incoming() {
  for (Incoming& incoming : incoming_) {
    for (Incoming::Fetch& fetch : incoming.fetches) {
      if (fetch.copy.is_complete()) continue;
      MUSTER_TRY(const bool copied, fetch.copy.fetch(credentials_.pid));
      if (copied && !fetch.copy.is_complete()) return true;
    }
  }
  for (const Incoming::Fetch& fetch : incoming_.front().fetches) {
    if (!fetch.copy.is_complete()) return false;
  }
  // Taken out first: the sink may end the connection.
  Incoming whole = std::move(incoming_.front());
  incoming_.pop_front();
  MUSTER_TRY_OK(finish(std::move(whole)));
  return true;
}

Status ShmConnection::finish(Incoming incoming) {
  wire::Frame& frame = incoming.frame;
  // Once the peer is gone, its number may be that of another, whose memory was read.
  const bool is_peer_there = is_open(socket_.get());
  for (Incoming::Fetch& fetch : incoming.fetches) {
    if (!fetch.copy.finish() || !is_peer_there) {
      return Error(Code::unavailable, "the peer closed the connection while a body was copied");
    }
    Buffer part = std::move(fetch.target).freeze();
    if (fetch.part < frame.parts.size()) {
      frame.parts[fetch.part] = std::move(part);
      continue;
    }
    std::size_t offset = 0;
    for (const auto& [index, size] : incoming.bundled) {
      frame.parts[index] = part.slice(offset, size);
      offset += aligned(size);
    }
  }
  ring_peer();  // The peer may let go of its memory.
  sink_->on_frame(frame);
  return ok();
}

Status ShmConnection::take_releases(std::span<const std::byte> body) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= body.size(); at += sizeof(std::uint64_t)) {
    MUSTER_TRY_OK(holdings_.release(wire::load<std::uint64_t>(body.data() + at)));
    MUSTER_CRASH_POINT();
  }
  tell_of_gone_segments();  // It was perhaps the last to hold them.
  return ok();
}

Status ShmConnection::read_notices() {
  for (;;) {
    MUSTER_TRY(auto message, receive_message(socket_.get()));
    if (!message) return ok();
    if (message->size == 0 || is_farewell(*message)) {
      return Error(Code::unavailable, "the peer closed or died");
    }
    if (!reader_) {
      MUSTER_TRY_OK(take_hello(std::move(*message)));
      tell_abilities();
      // What we wrote before we knew the door was not announced.
      ring_peer();
      hub_.make_hot(*this);
      continue;
    }
    SegmentNotice notice;
    if (message->size != sizeof notice) return Error(Code::invalid, "a set-up message too many");
    std::memcpy(&notice, message->bytes.data(), sizeof notice);
    if (notice.magic == kSetupMagic && notice.size == 0 && !message->descriptors[0]) {
      received_.drop(notice.slot);
      continue;
    }
    if (notice.magic != kSetupMagic || !message->descriptors[0]) {
      return Error(Code::invalid, "a notice of a segment without the segment");
    }
    MUSTER_TRY(auto segment, arena::Segment::open(message->descriptors[0].release(), notice.size));
    MUSTER_TRY_OK(received_.put(notice.slot, std::move(segment)));
  }
}

}  // namespace muster::drivers::shm
