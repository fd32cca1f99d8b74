// Value documents from a stranger: decode, encode, decode, compare.
//
// Input: the number of parts, at most 7; the size of each, 16 bits; then the tree.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sys/mman.h>

#include "muster/base/check.h"
#include "muster/wire/bytes.h"
#include "muster/wire/value_codec.h"

namespace {

using namespace muster;
using wire::Document;
using wire::Value;

constexpr std::size_t kPartRoom = std::size_t{1} << 16;

// Memory for parts. What may not be read ends the process if it is.
const std::byte* part_memory(int protection) {
  void* memory = mmap(nullptr, kPartRoom, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUSTER_CHECK(memory != MAP_FAILED, "there is memory for a part");
  return static_cast<const std::byte*>(memory);
}

void check_document(const Document& document, const Value& value, std::size_t out_of_band_from) {
  const Result<Value> read = wire::decode(document.tree, document.parts);
  MUSTER_CHECK(read.has_value(), "what was written can be read");
  MUSTER_CHECK(*read == value, "what was read is what was written");
  const Result<Document> again = wire::encode(*read, {.out_of_band_from = out_of_band_from});
  MUSTER_CHECK(again && again->tree.text() == document.tree.text(), "a value has one document");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::byte* const readable = part_memory(PROT_READ);
  static const std::byte* const unreadable = part_memory(PROT_NONE);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::size_t part_count = size > 0 ? data[0] % 8 : 0;
  const std::size_t tree_at = 1 + 2 * part_count;
  if (size < tree_at) return 0;

  std::vector<Buffer> parts;
  std::vector<Buffer> unreadable_parts;
  for (std::size_t i = 0; i < part_count; ++i) {
    const std::size_t part_size = wire::load<std::uint16_t>(bytes + 1 + 2 * i);
    parts.emplace_back(std::span(readable, part_size), nullptr);
    unreadable_parts.emplace_back(std::span(unreadable, part_size), nullptr);
  }
  const Buffer tree = Buffer::copy_of({bytes + tree_at, size - tree_at});

  const Result<Value> blind = wire::decode(tree, unreadable_parts);
  const Result<Value> value = wire::decode(tree, parts);
  MUSTER_CHECK(blind.has_value() == value.has_value(), "the content of parts changes nothing");
  if (!value) return 0;

  for (const std::size_t out_of_band_from : {std::size_t{0}, std::size_t{4096}, SIZE_MAX}) {
    const Result<Document> document = wire::encode(*value, {.out_of_band_from = out_of_band_from});
    MUSTER_CHECK(document.has_value(), "what was read can be written");
    check_document(*document, *value, out_of_band_from);
  }
  return 0;
}
