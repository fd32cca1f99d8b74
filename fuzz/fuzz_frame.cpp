// The prefix of a frame from a stranger: what is read, written again, is the same.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "muster/base/check.h"
#include "muster/wire/frame.h"

namespace {

using namespace muster;

// Where parts begin that have a size only: nobody looks at their bytes.
constexpr std::byte kByte{};

// Reads the sizes of all parts; false if one is refused or missing.
bool read_parts(std::span<const std::byte> bytes, std::size_t count, wire::Parts& parts) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto rest = bytes.subspan(std::min(bytes.size(), wire::prefix_size(i)));
    const Result<std::uint64_t> size = wire::read_part_size(rest);
    if (!size) return false;
    MUSTER_CHECK(*size <= wire::kMaxPart, "a part within the limit");
    parts.push_back(Buffer(std::span(&kByte, *size), nullptr));
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const Result<wire::Prefix> prefix = wire::read_prefix(bytes);
  if (!prefix) return 0;
  MUSTER_CHECK(prefix->head_size <= wire::kMaxHead, "a head within the limit");
  MUSTER_CHECK(prefix->part_count <= wire::kMaxParts, "parts within the limit");

  wire::Frame frame;
  frame.head.assign(std::vector<std::byte>(prefix->head_size));
  if (!read_parts(bytes, prefix->part_count, frame.parts)) return 0;
  std::vector<std::byte> written(wire::prefix_size(prefix->part_count));
  wire::write_prefix(frame, written);
  MUSTER_CHECK(std::ranges::equal(written, bytes.first(written.size())), "a frame has one prefix");
  return 0;
}
