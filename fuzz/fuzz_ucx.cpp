// A peer of the ucx driver: its greetings on the control connection, and the
// records that UCX brings.
//
// Input: a byte, the size of the greeting's head; the head; a byte, whether a
// part follows; the rest is the part, or a record.

#include <algorithm>
#include <cstdint>

#include "muster/base/check.h"
#include "muster/drivers/ucx/greeting.h"
#include "muster/drivers/ucx/record.h"

namespace {

using namespace muster;
using namespace muster::drivers::ucx;

void check_greeting(std::span<const std::byte> head, std::span<const std::byte> part,
                    bool has_part) {
  wire::Frame frame;
  frame.head.assign(head);
  if (has_part) frame.parts.push_back(Buffer::copy_of(part));
  const Result<Greeting> heard = decode_greeting(frame);
  if (!heard) return;
  MUSTER_CHECK(heard->worker.size() <= kMostAddress, "an address within the limit");
  const Result<Greeting> again = decode_greeting(encode(*heard));
  MUSTER_CHECK(again && again->kind == heard->kind && again->hub == heard->hub &&
                   again->key == heard->key && again->pair == heard->pair,
               "what was read can be written");
}

void check_record(std::span<const std::byte> bytes) {
  ReadRecord record;
  ReadShortRecord brief;
  const bool is_short = read_short_record(bytes, brief);
  const bool is_record = read_record(bytes, record).has_value();
  MUSTER_CHECK(is_record || !is_short, "what is no record is no short one");
  if (!is_record) return;
  if (is_short) {
    MUSTER_CHECK(record.sizes.size() == 1 && record.sizes[0] == brief.part.size() &&
                     record.head.size() == brief.head.size(),
                 "a short record is read as any other");
  }
  MUSTER_CHECK(record.sizes.size() <= wire::kMaxParts, "parts in bounds");
  std::uint64_t large = 0;
  std::size_t small = 0;
  for (const std::uint64_t size : record.sizes) {
    (travels_alone(size) ? large : small) += travels_alone(size) ? size : padded(size);
  }
  MUSTER_CHECK(large == record.large && large <= kMostBody, "no more than a frame can have");
  MUSTER_CHECK(small == record.small.size(), "the small parts are all there");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  check_record(bytes);
  if (bytes.empty()) return 0;
  const std::size_t head =
      std::min({std::to_integer<std::size_t>(bytes[0]), wire::kMaxHead, bytes.size() - 1});
  const auto said = bytes.subspan(1, head);
  bytes = bytes.subspan(1 + head);
  const bool has_part = !bytes.empty() && bytes[0] != std::byte{};
  check_greeting(said, bytes.empty() ? bytes : bytes.subspan(1), has_part);
  return 0;
}
