#include "muster/drivers/ucx/record.h"

#include <cstring>
#include <string>

#include "muster/base/copy_bytes.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::ucx {
namespace {

constexpr std::size_t kPartSize = 8;

std::size_t small_parts_start(std::size_t parts, std::size_t head) {
  return sizeof(RecordPrefix) + kPartSize * parts + padded(head);
}

// Puts the bytes there, and zeros up to the next boundary. Where that is.
std::byte* put(std::byte* at, std::span<const std::byte> bytes) {
  if (bytes.empty()) return at;
  std::byte* const end = at + padded(bytes.size());
  wire::store(end - sizeof(std::uint64_t), std::uint64_t{0});
  copy_bytes(at, bytes.data(), bytes.size());
  return end;
}

}  // namespace

std::size_t record_size(const wire::Frame& frame) {
  std::size_t size = small_parts_start(frame.parts.size(), frame.head.size());
  for (const Buffer& part : frame.parts) {
    if (!travels_alone(part.size())) size += padded(part.size());
  }
  return size;
}

void write_record(const wire::Frame& frame, std::uint64_t key, std::uint32_t sequence,
                  std::byte* out) {
  const RecordPrefix prefix{key, sequence, static_cast<std::uint16_t>(frame.parts.size()),
                            static_cast<std::uint16_t>(frame.head.size())};
  std::memcpy(out, &prefix, sizeof prefix);
  std::byte* at = out + sizeof prefix;
  for (const Buffer& part : frame.parts) {
    wire::store(at, static_cast<std::uint64_t>(part.size()));
    at += kPartSize;
  }
  at = put(at, frame.head.bytes());
  for (const Buffer& part : frame.parts) {
    if (!travels_alone(part.size())) at = put(at, part.bytes());
  }
}

namespace {

std::size_t write_if_short(const wire::Frame& frame, std::uint64_t key, std::uint32_t sequence,
                           std::span<std::byte, kShortRecord> out) {
  for (const Buffer& part : frame.parts) {
    if (travels_alone(part.size())) return 0;
  }
  const std::size_t size = record_size(frame);
  if (size > kShortRecord) return 0;
  write_record(frame, key, sequence, out.data());
  return size;
}

}  // namespace

// Most have one part, and need no loops.
std::size_t write_short_record(const wire::Frame& frame, std::uint64_t key, std::uint32_t sequence,
                               std::span<std::byte, kShortRecord> out) {
  static_assert(kShortRecord > sizeof(RecordPrefix) + kPartSize + wire::kMaxHead);
  if (frame.parts.size() != 1) return write_if_short(frame, key, sequence, out);
  const std::span<const std::byte> part = frame.parts[0].bytes();
  const std::size_t start = small_parts_start(1, frame.head.size());
  if (part.size() > kShortRecord - start) return 0;
  const RecordPrefix prefix{key, sequence, 1, static_cast<std::uint16_t>(frame.head.size())};
  std::memcpy(out.data(), &prefix, sizeof prefix);
  wire::store(out.data() + sizeof prefix, static_cast<std::uint64_t>(part.size()));
  put(out.data() + sizeof prefix + kPartSize, frame.head.bytes());
  put(out.data() + start, part);
  return start + padded(part.size());
}

// The bytes may lie where the peer can still write: each is read once.
Status read_record(std::span<const std::byte> bytes, ReadRecord& into) {
  RecordPrefix prefix;
  if (bytes.size() < sizeof prefix) return Error(Code::invalid, "a record without a prefix");
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  if (prefix.parts > wire::kMaxParts || prefix.head > wire::kMaxHead) {
    return Error(Code::invalid, "a record of too many parts or too long a head");
  }
  const std::size_t start = small_parts_start(prefix.parts, prefix.head);
  if (bytes.size() < start) return Error(Code::invalid, "a record that is cut off");
  into.sequence = prefix.sequence;
  into.sizes.resize(prefix.parts);
  into.large = 0;
  std::size_t inside = 0;
  const std::byte* at = bytes.data() + sizeof prefix;
  for (std::uint64_t& size : into.sizes) {
    size = wire::load<std::uint64_t>(at);
    at += kPartSize;
    if (size > kMostBody) {
      return Error(Code::invalid, "a part of " + std::to_string(size) + " bytes in one frame");
    }
    (travels_alone(size) ? into.large : inside) += travels_alone(size) ? size : padded(size);
  }
  if (into.large > kMostBody || bytes.size() != start + inside) {
    return Error(Code::invalid, "a record whose sizes do not add up");
  }
  into.head = {at, prefix.head};
  into.small = bytes.subspan(start);
  return ok();
}

bool read_short_record(std::span<const std::byte> bytes, ReadShortRecord& into) {
  RecordPrefix prefix;
  if (bytes.size() < sizeof prefix + kPartSize) return false;
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  if (prefix.parts != 1 || prefix.head > wire::kMaxHead) return false;
  const std::size_t start = small_parts_start(1, prefix.head);
  const auto size = wire::load<std::uint64_t>(bytes.data() + sizeof prefix);
  if (travels_alone(size) || bytes.size() != start + padded(size)) return false;
  into.sequence = prefix.sequence;
  into.head = bytes.subspan(sizeof prefix + kPartSize, prefix.head);
  into.part = bytes.subspan(start, size);
  return true;
}

}  // namespace muster::drivers::ucx
