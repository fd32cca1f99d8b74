#include "muster/wire/frame.h"

#include <string>

#include "muster/base/copy_bytes.h"
#include "muster/wire/bytes.h"

namespace muster::wire {

void Head::copy_unusual(std::byte* to, const std::byte* from, std::size_t size) {
  copy_bytes(to, from, size);
}

void write_prefix(const Frame& frame, std::span<std::byte> out) {
  store<std::uint16_t>(out.data(), kFrameMagic);
  store<std::uint16_t>(out.data() + 2, static_cast<std::uint16_t>(frame.head.size()));
  store<std::uint32_t>(out.data() + 4, static_cast<std::uint32_t>(frame.parts.size()));
  std::byte* size = out.data() + kPrefixSize;
  for (const Buffer& part : frame.parts) {
    store<std::uint64_t>(size, part.size());
    size += kPartSizeSize;
  }
}

Result<Prefix> read_prefix(std::span<const std::byte> bytes) {
  if (bytes.size() < kPrefixSize) return Error(Code::invalid, "a frame's prefix is cut short");
  if (load<std::uint16_t>(bytes.data()) != kFrameMagic) {
    return Error(Code::invalid, "not a muster frame");
  }
  const auto head_size = load<std::uint16_t>(bytes.data() + 2);
  const auto part_count = load<std::uint32_t>(bytes.data() + 4);
  if (head_size > kMaxHead) {
    return Error(Code::invalid, "a frame's head of " + std::to_string(head_size) +
                                    " bytes, at most " + std::to_string(kMaxHead) + " may come");
  }
  if (part_count > kMaxParts) {
    return Error(Code::invalid, "a frame of " + std::to_string(part_count) + " parts, at most " +
                                    std::to_string(kMaxParts) + " may come");
  }
  return Prefix{head_size, part_count};
}

Result<std::uint64_t> read_part_size(std::span<const std::byte> bytes) {
  if (bytes.size() < kPartSizeSize) return Error(Code::invalid, "a part's size is cut short");
  const auto size = load<std::uint64_t>(bytes.data());
  if (size > kMaxPart) {
    return Error(Code::invalid, "a part of " + std::to_string(size) + " bytes, at most " +
                                    std::to_string(kMaxPart) + " may come");
  }
  return size;
}

}  // namespace muster::wire
