// A frame's record in a ring that a peer writes, alone or in a batch: whatever it
// says, what is read lies inside the record, and both readers agree on what they
// both can read.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "muster/base/check.h"
#include "muster/drivers/shm/batch.h"
#include "muster/drivers/shm/record.h"
#include "muster/drivers/shm/ring.h"
#include "muster/drivers/shm/small_record.h"

namespace {

using namespace muster;
using namespace muster::drivers::shm;

void check_small(std::span<const std::byte> body, const wire::Head& head,
                 const std::vector<PartPlan>& plans, std::size_t begin) {
  wire::Head small_head;
  std::array<std::uint32_t, kSmallParts> sizes{};
  std::size_t count = 0;
  const std::size_t start = read_small_record(body, small_head, sizes, count);
  if (start == 0) return;
  MUSTER_CHECK(start == begin && count == plans.size(), "both read the same parts");
  MUSTER_CHECK(std::ranges::equal(small_head.bytes(), head.bytes()), "both read the same head");
  for (std::size_t i = 0; i < count; ++i) {
    MUSTER_CHECK(plans[i].how == How::inside && plans[i].size == sizes[i], "of the same sizes");
  }
}

void check_record(std::span<const std::byte> body) {
  wire::Head head;
  std::vector<PartPlan> plans;
  const Result<std::size_t> begin = read_frame_record(body, head, plans);
  if (!begin) return;
  std::size_t end = *begin;
  for (const PartPlan& plan : plans) {
    if (plan.how == How::inside) end += aligned(plan.size);
  }
  MUSTER_CHECK(end <= body.size(), "what is inside lies inside");
  MUSTER_CHECK(plans.size() <= wire::kMaxParts + 1, "parts in bounds");
  check_small(body, head, plans, *begin);
}

void check_batch(std::span<const std::byte> rest) {
  BufferPool pool;
  wire::Head head(std::array<std::byte, 32>{});
  for (;;) {
    const std::size_t before = rest.size();
    wire::Frame frame;
    if (Batch::take_brief(rest, pool, head, frame)) {
      MUSTER_CHECK(frame.parts.size() == 1 && rest.size() + frame.parts[0].size() < before,
                   "a brief one has one part, which lay in the batch");
      continue;
    }
    const std::span<const std::byte> record = Batch::take(rest);
    if (rest.size() == before) return;
    MUSTER_CHECK(record.size() + rest.size() < before, "each is taken once");
    check_record(record);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Words of eight bytes, as in a ring.
  std::vector<std::uint64_t> words(size / kRecordAlign);
  std::copy_n(data, words.size() * kRecordAlign, reinterpret_cast<std::uint8_t*>(words.data()));
  check_record(std::as_bytes(std::span(words)));
  check_batch(std::as_bytes(std::span(words)));
  return 0;
}
