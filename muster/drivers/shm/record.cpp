#include "muster/drivers/shm/record.h"

#include <array>
#include <cstring>

#include "muster/drivers/shm/ring.h"
#include "muster/net/driver.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::shm {
namespace {

using wire::load;
using wire::store;

constexpr std::size_t kElsewhere = 24;  // What a part that is not inside has besides.
constexpr std::uint64_t kMaxBundle = std::uint64_t{64} << 20;
constexpr std::uint64_t kSizeMask = (std::uint64_t{1} << 56) - 1;

Error invalid(const char* why) { return Error(Code::invalid, why).during("read a ring's frame"); }

}  // namespace

std::size_t frame_record_size(const wire::Frame& frame, std::span<const PartPlan> plans) {
  std::size_t size = kRecordFixed + kRecordPlan * plans.size() + aligned(frame.head.size());
  for (const PartPlan& plan : plans) {
    if (plan.how == How::inside) size += aligned(plan.size);
    if (plan.how == How::reference || plan.how == How::direct) size += kElsewhere;
  }
  return size;
}

void write_frame_record(const wire::Frame& frame, std::span<const PartPlan> plans, std::byte* out) {
  store<std::uint16_t>(out, static_cast<std::uint16_t>(frame.head.size()));
  store<std::uint16_t>(out + 2, static_cast<std::uint16_t>(frame.parts.size()));
  store<std::uint32_t>(out + 4, 0);
  out += kRecordFixed;
  for (const PartPlan& plan : plans) {
    store<std::uint64_t>(out, plan.size | static_cast<std::uint64_t>(plan.how) << 56);
    out += kRecordPlan;
    if (plan.how == How::inside || plan.how == How::bundled) continue;
    store<std::uint64_t>(out, plan.place);
    store<std::uint64_t>(out + 8, plan.handle);
    store<std::uint64_t>(out + 16, plan.slot);
    out += kElsewhere;
  }
  frame.head.copy_to(out);
  out += aligned(frame.head.size());
  for (std::size_t i = 0; i < frame.parts.size(); ++i) {
    if (plans[i].how != How::inside || plans[i].size == 0) continue;
    std::memcpy(out, frame.parts[i].data(), plans[i].size);
    out += aligned(plans[i].size);
  }
}

Result<std::size_t> read_frame_record(std::span<const std::byte> body, wire::Head& head,
                                      std::vector<PartPlan>& plans) {
  plans.clear();
  if (body.size() < kRecordFixed) return invalid("it is cut short");
  const auto head_size = load<std::uint16_t>(body.data());
  const auto part_count = load<std::uint16_t>(body.data() + 2);
  if (head_size > wire::kMaxHead) return invalid("its head is too long");
  if (part_count > wire::kMaxParts) return invalid("it has too many parts");
  std::size_t at = kRecordFixed;
  std::size_t inside = 0;
  std::uint64_t bundled = 0;
  std::size_t count = part_count;
  for (std::size_t i = 0; i < count; ++i) {
    if (body.size() - at < kRecordPlan) return invalid("its parts are cut short");
    const auto word = load<std::uint64_t>(body.data() + at);
    at += kRecordPlan;
    PartPlan plan;
    plan.size = word & kSizeMask;
    plan.how = static_cast<How>(word >> 56);
    if (plan.size > wire::kMaxPart) return invalid("a part is too large");
    switch (plan.how) {
      case How::inside: {
        // Held against the record at once, so that no sum can overflow.
        if (plan.size > body.size()) return invalid("a part is longer than its record");
        inside += aligned(plan.size);
        break;
      }
      case How::reference:
      case How::direct: {
        if (body.size() - at < kElsewhere) return invalid("its parts are cut short");
        plan.place = load<std::uint64_t>(body.data() + at);
        plan.handle = load<std::uint64_t>(body.data() + at + 8);
        plan.slot = load<std::uint32_t>(body.data() + at + 16);
        at += kElsewhere;
        break;
      }
      case How::bundled: {
        if (i == part_count || plan.size > kMaxBundle) return invalid("a bundle is too large");
        bundled += aligned(plan.size);
        count = std::size_t{part_count} + 1;  // The bundle itself.
        break;
      }
      default: return invalid("a part travels in an unknown way");
    }
    plans.push_back(plan);
  }
  if (count > part_count &&
      (plans.back().how != How::direct || plans.back().size != bundled || bundled > kMaxBundle)) {
    return invalid("its bundle does not hold its parts");
  }
  if (body.size() - at < aligned(head_size)) return invalid("its head is cut short");
  head.assign(body.subspan(at, head_size));
  at += aligned(head_size);
  if (body.size() - at < inside) return invalid("its parts are longer than the record");
  return at;
}

}  // namespace muster::drivers::shm
