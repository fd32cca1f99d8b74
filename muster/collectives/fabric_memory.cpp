// Which memory of ours the other ranks of this host know.

#include <algorithm>
#include <cstring>
#include <utility>

#include "muster/arena/shared_block.h"
#include "muster/collectives/fabric.h"

namespace muster::collectives::internal {
namespace {

// A part of at least so many bytes passes by reference, and brings its segment
// along; smaller ones may be copied.
constexpr std::size_t kSample = 4096;

}  // namespace

Result<WritableBuffer> Fabric::allocate(std::size_t bytes) {
  const loop::Turn turn(loop_);
  remains_.sweep();
  for (const auto& seat : seats_) {
    if (!seat->is_here() || !seat->shares_memory()) continue;
    MUSTER_TRY(WritableBuffer buffer, seat->link->allocate(std::max(bytes, kSample)));
    buffer.owner()->retain();
    introduce_sample({buffer.bytes().first(kSample), buffer.owner()});
    buffer.owner()->retain();
    return WritableBuffer(buffer.bytes().first(bytes), buffer.owner());
  }
  return WritableBuffer::on_heap(bytes);
}

void Fabric::introduce(const Buffer& memory) {
  if (memory.size() < kSample) return;
  const loop::Turn turn(loop_);
  introduce_sample(memory.slice(0, kSample));
}

// Tells all peers of this host of the segment that `sample` lies in, once.
void Fabric::introduce_sample(const Buffer& sample) {
  const arena::SharedBlock* block = arena::SharedBlock::of(sample);
  if (block == nullptr) return;
  const std::shared_ptr<arena::Segment>& segment = block->segment();
  std::erase_if(own_segments_, [&](const OwnSegment& known) {
    if (!known.segment.expired()) return false;
    for (const auto& seat : seats_) {
      if (seat->introduced.erase(known.number) == 0 || !seat->is_here()) continue;
      static_cast<void>(seat->send({.kind = NoteKind::forget, .value = known.number}));
    }
    return true;
  });
  auto known = std::ranges::find_if(
      own_segments_, [&](const OwnSegment& one) { return one.segment.lock() == segment; });
  if (known == own_segments_.end()) {
    own_segments_.push_back({++last_segment_, segment, segment->base(), segment->size()});
    known = std::prev(own_segments_.end());
  }
  for (const auto& seat : seats_) {
    if (!seat->is_here() || !seat->shares_memory() || seat->introduced.contains(known->number)) {
      continue;
    }
    wire::Parts parts;
    parts.push_back(sample);
    if (seat->send({.kind = NoteKind::segment, .value = known->number}, std::move(parts))) {
      seat->introduced.insert(known->number);
    }
  }
}

std::optional<std::pair<std::uint32_t, std::uint64_t>> Fabric::find_own(
    const void* data, std::uint64_t bytes, const std::vector<std::shared_ptr<Seat>>& readers) {
  const auto* const begin = static_cast<const std::byte*>(data);
  for (const OwnSegment& own : own_segments_) {
    if (begin < own.base || begin >= own.base + own.size || own.segment.expired()) continue;
    const auto offset = static_cast<std::uint64_t>(begin - own.base);
    if (bytes > own.size - offset) return std::nullopt;
    for (const auto& reader : readers) {
      if (reader != nullptr && reader->is_here() && !reader->introduced.contains(own.number)) {
        return std::nullopt;
      }
    }
    return std::pair(own.number, offset);
  }
  return std::nullopt;
}

}  // namespace muster::collectives::internal
