// The sending half of a link: how each part travels, and what follows from it.

#include <algorithm>
#include <cstring>

#include "muster/arena/shared_block.h"
#include "muster/base/crash_point.h"
#include "muster/drivers/shm/shm_connection.h"
#include "muster/drivers/shm/small_record.h"
#include "muster/net/driver_limits.h"

namespace muster::drivers::shm {
namespace {

// What one direct copy may span: others wait for no more than this.
constexpr std::size_t kMostDirect = std::size_t{4} << 20;
// So little that ten of them are under way in the ring: with five, writer and reader
// wait for each other.
constexpr std::size_t kMostInside = std::size_t{96} << 10;
// What the alignment of the most parts can add.
constexpr std::size_t kSlack = wire::kMaxParts * kRecordAlign;
static_assert(kMostInside + kSlack + 64 * wire::kMaxParts / 2 <= RingWriter::kLargestBody);
constexpr std::size_t kMostReleases = 512;  // Handles in one record.

Error ring_is_full() { return Error(Code::overloaded, "the ring to the peer is full"); }

}  // namespace

bool ShmConnection::passes(const Buffer& part) const {
  return arena::SharedBlock::of(part) != nullptr;
}

Result<WritableBuffer> ShmConnection::allocate(std::size_t size) {
  return hub_.arena().allocate(size);
}

std::size_t ShmConnection::max_body() const {
  return (peer_abilities_ & kMayRead) != 0 ? kMostDirect : kMostInside;
}

Status ShmConnection::send_copy(std::span<const std::byte, wire::kUsualHead> head,
                                std::span<const std::byte> part) {
  if (has_ended_) return Error(Code::unavailable, "the connection has ended");
  // By far the most: small ones that follow each other quickly.
  if (gathering_.holds(0) && batch_.add_brief(head, part)) return ok();
  wire::Frame frame;
  frame.head.assign(head);
  // What is this small is copied, by a batch or into the ring.
  frame.parts.push_back(Buffer(part, nullptr));
  return send_whole(frame);
}

Status ShmConnection::send(wire::Frame& frame) {
  if (has_ended_) return Error(Code::unavailable, "the connection has ended");
  if (frame.parts.size() == 1 && gathering_.holds(0) &&
      batch_.add_brief(frame.head.bytes(), frame.parts[0].bytes())) {
    frame.parts.clear();
    return ok();
  }
  return send_whole(frame);
}

// Not by what differs from the frame before.
Status ShmConnection::send_whole(wire::Frame& frame) {
  if (const std::size_t size = small_record_size(frame); size != 0) {
    if (gathering_.holds(0) && batch_.fits(size)) {
      batch_.add(frame, size);
      return ok();
    }
    if (send_small(frame, size)) return ok();
  }
  if (frame.parts.size() > wire::kMaxParts) {
    return Error(Code::invalid, "a frame of " + std::to_string(frame.parts.size()) +
                                    " parts, at most " + std::to_string(wire::kMaxParts) +
                                    " go at once; join some");
  }
  const Status planned = plan(frame);
  if (!planned) {
    undo_plans();
    return planned.error();
  }
  const std::size_t size = frame_record_size(frame, plans_);
  const bool has_direct =
      std::ranges::any_of(plans_, [](const PartPlan& part) { return part.how == How::direct; });
  const std::uint16_t note = has_direct ? kHasDirect : 0;
  std::byte* const record = begin_record(kFrameRecord, note, size);
  if (record == nullptr) {
    undo_plans();
    hub_.make_hot(*this);
    // What was written before must be seen, or there will never be room.
    hub_.loop().flush_later(*this);
    return ring_is_full();
  }
  write(frame, record);
  hub_.loop().flush_later(*this);
  return ok();
}

// False if there is no room.
bool ShmConnection::send_small(wire::Frame& frame, std::size_t size) {
  if (!batch_.fits(size)) {
    gathering_.release();
    if (!write_batch()) return false;
  }
  if (!gathering_.may_write(0)) {
    batch_.add(frame, size);
    return true;
  }
  if (!write_batch()) return false;
  std::byte* const record = writer_->begin(kFrameRecord, 0, size);
  if (record == nullptr) return false;
  write_small_record(frame, record);
  MUSTER_CRASH_POINT();
  writer_->commit();
  frame.parts.clear();
  hub_.loop().flush_later(*this);
  return true;
}

// Room for a record, after all that was gathered. Null if there is none; it is told
// when there is.
std::byte* ShmConnection::begin_record(std::uint16_t kind, std::uint16_t note, std::size_t size) {
  return write_batch() ? claim(kind, note, size) : nullptr;
}

// As begin_record(), whatever was gathered.
std::byte* ShmConnection::claim(std::uint16_t kind, std::uint16_t note, std::size_t size) {
  std::byte* record = writer_->begin(kind, note, size);
  if (record == nullptr && writer_->ask_for_room(size)) record = writer_->begin(kind, note, size);
  if (record == nullptr) wanted_room_ = std::max(wanted_room_, size);
  return record;
}

// False if there is no room for what was gathered; it is told when there is.
bool ShmConnection::write_batch() {
  if (batch_.empty()) return true;
  const std::span<const std::byte> bytes = batch_.bytes();
  std::byte* const record = claim(kBatchRecord, 0, bytes.size());
  if (record == nullptr) return false;
  std::memcpy(record, bytes.data(), bytes.size());
  MUSTER_CRASH_POINT();
  writer_->commit();
  batch_.clear();
  hub_.loop().flush_later(*this);
  return true;
}

void ShmConnection::write_gathered() {
  if (has_ended_ || write_batch()) return;
  hub_.make_hot(*this);
  hub_.loop().flush_later(*this);
}

void ShmConnection::write(wire::Frame& frame, std::byte* record) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const PartPlan& part = plans_[i];
    if (part.how != How::direct) continue;
    Buffer source = i < frame.parts.size() ? frame.parts[i] : std::move(bundle_);
    offers_.push_back({part.slot, DirectOffer(own_cell(part.slot), std::move(source))});
    hub_.make_hot(*this);  // To help with the copying.
  }
  write_frame_record(frame, plans_, record);
  MUSTER_CRASH_POINT();
  writer_->commit();
  frame.parts.clear();
}

Status ShmConnection::plan(const wire::Frame& frame) {
  plans_.clear();
  std::size_t inside = 0;
  std::size_t copied = 0;
  for (const Buffer& part : frame.parts) {
    PartPlan& plan = plans_.emplace_back();
    plan.size = part.size();
    if (part.size() >= net::kReferenceFrom && passes(part)) {
      Result<PartPlan> reference = plan_reference(part);
      if (!reference) {
        // Not copied instead: whoever receives it has set no memory aside.
        wanted_room_ = 1;
        hub_.make_hot(*this);
        return reference.error();
      }
      plan = *reference;
    }
    if (plan.how == How::inside && part.size() >= net::kLargePart && part.size() <= kMostDirect &&
        (peer_abilities_ & kMayRead) != 0) {
      if (free_cells_.empty()) {
        wanted_room_ = 1;
        return ring_is_full();
      }
      plan = plan_direct(part);
    }
    if (plan.how == How::inside) inside += aligned(plan.size);
    if (plan.how != How::reference) copied += plan.size;
  }
  if (copied > max_body()) {
    return Error(Code::invalid, "a frame of " + std::to_string(copied) + " bytes, at most " +
                                    std::to_string(max_body()) + " go at once; send several");
  }
  return inside <= kMostInside + kSlack ? ok() : bundle(frame);
}

PartPlan ShmConnection::plan_direct(const Buffer& part) {
  PartPlan plan;
  plan.how = How::direct;
  plan.size = part.size();
  plan.place = reinterpret_cast<std::uint64_t>(part.data());
  plan.slot = free_cells_.back();
  free_cells_.pop_back();
  return plan;
}

// Many parts that are too small to be copied directly one by one, and too many
// for the ring, are joined for the way.
Status ShmConnection::bundle(const wire::Frame& frame) {
  std::size_t size = 0;
  for (const PartPlan& plan : plans_) {
    if (plan.how == How::inside) size += aligned(plan.size);
  }
  if (free_cells_.empty()) {
    wanted_room_ = 1;
    return ring_is_full();
  }
  WritableBuffer joined = hub_.pool().take(size);
  if (joined.size() < size) {
    wanted_room_ = 1;
    return Error(Code::overloaded, "no memory to join a frame's parts");
  }
  std::byte* to = joined.data();
  for (std::size_t i = 0; i < frame.parts.size(); ++i) {
    if (plans_[i].how != How::inside) continue;
    plans_[i].how = How::bundled;
    if (plans_[i].size > 0) std::memcpy(to, frame.parts[i].data(), plans_[i].size);
    to += aligned(plans_[i].size);
  }
  bundle_ = std::move(joined).freeze();
  plans_.push_back(plan_direct(bundle_));
  return ok();
}

Result<PartPlan> ShmConnection::plan_reference(const Buffer& part) {
  const std::shared_ptr<arena::Segment>& segment = arena::SharedBlock::of(part)->segment();
  Result<arena::SentSegments::Slot> found = sent_.slot_for(segment);
  if (!found || found->is_new) tell_of_gone_segments();
  if (!found) found = sent_.slot_for(segment);
  MUSTER_TRY(const arena::SentSegments::Slot slot, std::move(found));
  if (slot.is_new) {
    const SegmentNotice notice{kSetupMagic, slot.number, segment->size()};
    const Status sent =
        send_message(socket_.get(), &notice, sizeof notice, {segment->descriptor()});
    MUSTER_CRASH_POINT();
    if (!sent) {
      sent_.forget(slot.number);
      return sent.error();
    }
  }
  PartPlan plan;
  plan.how = How::reference;
  plan.size = part.size();
  plan.place = static_cast<std::uint64_t>(part.data() - segment->base());
  plan.handle = holdings_.add(part);
  plan.slot = slot.number;
  return plan;
}

// The peer's mapping is what keeps the memory of segments that are gone here. It hears
// of them when another one comes, or when it has let go of something.
void ShmConnection::tell_of_gone_segments() {
  sent_.tell_gone([this](std::uint32_t slot) {
    const SegmentNotice notice{kSetupMagic, slot, 0};
    return static_cast<bool>(send_message(socket_.get(), &notice, sizeof notice, {}));
  });
}

// The frame does not go after all.
void ShmConnection::undo_plans() {
  for (const PartPlan& plan : plans_) {
    if (plan.how == How::direct) free_cells_.push_back(plan.slot);
    if (plan.how == How::reference) static_cast<void>(holdings_.release(plan.handle));
  }
  plans_.clear();
  bundle_ = Buffer();
}

void ShmConnection::ring_peer() {
  // Before the peer has answered there is no door; it looks by itself first.
  if (door_ && door_->ring()) hub_.has_woken_a_peer();
}

void ShmConnection::send_releases() {
  // Always: only the first of those that wait there says so.
  releases_->take(release_batch_);
  std::size_t done = 0;
  while (done < release_batch_.size()) {
    const std::size_t count = std::min(kMostReleases, release_batch_.size() - done);
    const std::size_t size = count * sizeof(std::uint64_t);
    std::byte* const record = begin_record(kReleaseRecord, 0, size);
    if (record == nullptr) break;
    std::memcpy(record, release_batch_.data() + done, size);
    MUSTER_CRASH_POINT();
    writer_->commit();
    done += count;
  }
  release_batch_.erase(release_batch_.begin(), release_batch_.begin() + done);
  hub_.loop().flush_later(*this);
}

bool ShmConnection::help_with_offers() {
  bool freed = false;
  while (!offers_.empty() && offers_.front().copy.is_done()) {
    free_cells_.push_back(offers_.front().cell);
    offers_.pop_front();
    freed = true;
  }
  if ((abilities_ & kMayWrite) == 0) return freed;
  for (Offer& offer : offers_) {
    if (!offer.copy.can_help()) continue;
    // Once the peer is gone, its number may be another process's.
    if (!is_open(socket_.get())) return freed;
    const Result<bool> helped = offer.copy.help(credentials_.pid);
    if (!helped) {
      fail(helped.error());
      return true;
    }
    if (!*helped) continue;
    // The reader may be waiting for this very piece.
    if (offer.copy.is_exhausted()) ring_peer();
    return true;
  }
  return freed;
}

void ShmConnection::tell_of_room() {
  if (wanted_room_ > 1 && !writer_->has_room(wanted_room_)) return;
  if (free_cells_.empty()) return;
  wanted_room_ = 0;
  if (!write_batch()) return;
  if (!release_batch_.empty()) send_releases();
  sink_->on_room();
}

void ShmConnection::tell_abilities() {
  if (writer_->begin(kAbilitiesRecord, static_cast<std::uint16_t>(abilities_), 0) == nullptr) {
    return;  // The ring is full already: copies through the ring serve as well.
  }
  writer_->commit();
  hub_.loop().flush_later(*this);
}

}  // namespace muster::drivers::shm
