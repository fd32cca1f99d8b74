#include "muster/drivers/ucx/record.h"

#include <cstring>
#include <string>

#include "muster/wire/bytes.h"

namespace muster::drivers::ucx {
namespace {

// Number of parts, size of the head, nothing.
constexpr std::size_t kAtParts = 0;
constexpr std::size_t kAtHead = 4;
constexpr std::size_t kPrefix = 8;
constexpr std::size_t kPartSize = 8;

std::size_t small_parts_start(std::size_t parts, std::size_t head) {
  return kPrefix + kPartSize * parts + padded(head);
}

}  // namespace

std::size_t record_size(const wire::Frame& frame) {
  std::size_t size = small_parts_start(frame.parts.size(), frame.head.size());
  for (const Buffer& part : frame.parts) {
    if (!travels_alone(part.size())) size += padded(part.size());
  }
  return size;
}

void write_record(const wire::Frame& frame, std::byte* out) {
  wire::store(out + kAtParts, static_cast<std::uint32_t>(frame.parts.size()));
  wire::store(out + kAtHead, static_cast<std::uint32_t>(frame.head.size()));
  std::byte* at = out + kPrefix;
  for (const Buffer& part : frame.parts) {
    wire::store(at, static_cast<std::uint64_t>(part.size()));
    at += kPartSize;
  }
  frame.head.copy_to(at);
  at += padded(frame.head.size());
  for (const Buffer& part : frame.parts) {
    if (part.empty() || travels_alone(part.size())) continue;
    std::memcpy(at, part.data(), part.size());
    at += padded(part.size());
  }
}

Status read_record(std::span<const std::byte> bytes, ReadRecord& into) {
  if (bytes.size() < kPrefix) return Error(Code::invalid, "a record without a prefix");
  const std::size_t parts = wire::load<std::uint32_t>(bytes.data() + kAtParts);
  const std::size_t head = wire::load<std::uint32_t>(bytes.data() + kAtHead);
  if (parts > wire::kMaxParts || head > wire::kMaxHead) {
    return Error(Code::invalid, "a record of too many parts or too long a head");
  }
  const std::size_t start = small_parts_start(parts, head);
  if (bytes.size() < start) return Error(Code::invalid, "a record that is cut off");
  into.sizes.clear();
  into.large = 0;
  std::size_t inside = 0;
  const std::byte* at = bytes.data() + kPrefix;
  for (std::size_t i = 0; i < parts; ++i, at += kPartSize) {
    const auto size = wire::load<std::uint64_t>(at);
    if (size > kMostBody) {
      return Error(Code::invalid, "a part of " + std::to_string(size) + " bytes in one frame");
    }
    into.sizes.push_back(size);
    (travels_alone(size) ? into.large : inside) += travels_alone(size) ? size : padded(size);
  }
  if (into.large > kMostBody || bytes.size() != start + inside) {
    return Error(Code::invalid, "a record whose sizes do not add up");
  }
  into.head.assign({at, head});
  into.small = bytes.subspan(start);
  return ok();
}

}  // namespace muster::drivers::ucx
