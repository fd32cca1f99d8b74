// A message from a stranger: its head, and its body of any form and compression.
//
// Input: the size of the head's bytes behind the link's; those bytes; the number
// of parts, at most 7; the size of each, 16 bits; then the parts.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "muster/base/check.h"
#include "muster/msg/message_codec.h"
#include "muster/wire/bytes.h"

namespace {

using namespace muster;

// What is small enough to be tried often.
constexpr msg::BodyLimits kLimits{.max_decompressed = std::uint64_t{1} << 20};

std::span<const std::byte> take(std::span<const std::byte>& from, std::size_t size) {
  const auto taken = from.first(std::min(size, from.size()));
  from = from.subspan(taken.size());
  return taken;
}

std::size_t take_byte(std::span<const std::byte>& from) {
  const auto taken = take(from, 1);
  return taken.empty() ? 0 : std::to_integer<std::size_t>(taken[0]);
}

void check_head(const msg::MessageHead& head, const wire::Head& read) {
  wire::Head written;
  msg::write_message_head(head, written);
  MUSTER_CHECK(std::ranges::equal(written.bytes().subspan(net::kLinkHead),
                                  read.bytes().subspan(net::kLinkHead)),
               "a message has one head");
}

void check_body(const wire::Value& body) {
  for (const auto how : {msg::Compression::none, msg::Compression::zstd, msg::Compression::lz4}) {
    const auto encoded = msg::encode_body(body, how);
    MUSTER_CHECK(encoded.has_value(), "what was read can be written");
    const auto read = msg::decode_body(encoded->form, encoded->compression, encoded->parts);
    MUSTER_CHECK(read && *read == body, "what was written can be read");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto own = take(bytes, std::min(take_byte(bytes), net::kMaxUserHead));
  wire::Head frame_head;
  std::ranges::copy(own, frame_head.resize(net::kLinkHead + own.size()).begin() + net::kLinkHead);

  const Result<msg::MessageHead> head = msg::read_message_head(frame_head);
  if (!head) return 0;
  check_head(*head, frame_head);

  std::vector<Buffer> parts(take_byte(bytes) % 8);
  const auto sizes = take(bytes, 2 * parts.size());
  if (sizes.size() < 2 * parts.size()) return 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = Buffer::copy_of(take(bytes, wire::load<std::uint16_t>(sizes.data() + 2 * i)));
  }
  const Result<wire::Value> body = msg::decode_body(head->form, head->compression, parts, kLimits);
  if (body) check_body(*body);
  return 0;
}
