// The records of a ring: frames, released references, what a side can do.
//
// docs/reference/wire.md has the bytes. Pure. The reader's half reads each
// word of shared memory once, so that a peer cannot change it between the
// check and the use.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muster/base/result.h"
#include "muster/wire/frame.h"

namespace muster::drivers::shm {

enum RecordKind : std::uint16_t {
  kFrameRecord = 1,
  kReleaseRecord = 2,    // Handles of references that the reader lets go of, 8 bytes each.
  kAbilitiesRecord = 3,  // `note` says what the writer may do to the reader's memory.
  kBatchRecord = 4,      // Frames that were gathered: each after its size.
};

// How a part of a frame travels.
enum class How : std::uint8_t {
  inside = 0,     // In the record.
  reference = 1,  // It lies in a segment that the reader maps.
  direct = 2,     // It lies in the writer's own memory; both sides copy.
  bundled = 3,    // As direct, together with others in the plan that follows the parts'.
};

// Of a frame record.
inline constexpr std::size_t kRecordFixed = 8;  // Head size, part count.
inline constexpr std::size_t kRecordPlan = 8;   // Size and how, of each part.

// In a frame record's note: some parts are direct, so the frame takes a while.
inline constexpr std::uint16_t kHasDirect = 1;

struct PartPlan {
  How how = How::inside;
  std::uint64_t size = 0;
  std::uint64_t place = 0;   // reference: offset in the segment; direct: address.
  std::uint64_t handle = 0;  // reference: to be released with this.
  std::uint32_t slot = 0;    // reference: which segment; direct: which cell.
};

// How many bytes of record body a frame takes whose parts go as planned. There
// is a plan per part and, if any part is bundled, one more: the direct copy of
// those, each at a multiple of eight.
std::size_t frame_record_size(const wire::Frame& frame, std::span<const PartPlan> plans);

// Writes it; copies the parts that go inside.
void write_frame_record(const wire::Frame& frame, std::span<const PartPlan> plans, std::byte* out);

// Reads all but the contents: `head`, `plans`, and where the first part that
// goes inside begins; each next one begins at the next multiple of eight. A
// bundle's plan comes last, after those of the parts.
// Code::invalid for what no honest writer leaves.
Result<std::size_t> read_frame_record(std::span<const std::byte> body, wire::Head& head,
                                      std::vector<PartPlan>& plans);

}  // namespace muster::drivers::shm
