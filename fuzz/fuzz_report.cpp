// What a peer tells of messages that it is done with, and of itself when it is asked:
// what is read, written again, is read the same.
//
// Input: the number of parts, at most 7, and 8 more if the body is bytes and not a
// document; the size of each part, 16 bits; then the parts.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "muster/base/check.h"
#include "muster/msg/delivery_report.h"
#include "muster/msg/message_codec.h"
#include "muster/msg/report.h"
#include "muster/wire/bytes.h"

namespace {

using namespace muster;

constexpr msg::BodyLimits kLimits{.max_decompressed = std::uint64_t{1} << 20};

constexpr auto kPlain = msg::Compression::none;

void check_delivery(msg::BodyForm form, std::span<const Buffer> parts) {
  const auto report = msg::decode_report(form, kPlain, parts, kLimits);
  if (!report) return;
  const auto encoded = msg::encode_report(*report);
  MUSTER_CHECK(encoded.has_value(), "what was read can be written");
  const auto again = msg::decode_report(encoded->form, encoded->compression, encoded->parts);
  MUSTER_CHECK(again && *again == *report, "what was written can be read");
}

void check_component(msg::BodyForm form, std::span<const Buffer> parts) {
  const auto body = msg::decode_body(form, kPlain, parts, kLimits);
  if (!body) return;
  const auto report = msg::to_report(*body);
  if (!report) return;
  const wire::Value told = msg::to_value(*report);
  const auto again = msg::to_report(told);
  MUSTER_CHECK(again && msg::to_value(*again) == told, "what was written can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto take = [&bytes](std::size_t wanted) {
    const auto taken = bytes.first(std::min(wanted, bytes.size()));
    bytes = bytes.subspan(taken.size());
    return taken;
  };
  const auto count = take(1);
  if (count.empty()) return 0;
  std::vector<Buffer> parts(std::to_integer<std::size_t>(count[0]) % 8);
  const auto sizes = take(2 * parts.size());
  if (sizes.size() < 2 * parts.size()) return 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = Buffer::copy_of(take(wire::load<std::uint16_t>(sizes.data() + 2 * i)));
  }
  const bool is_bytes = std::to_integer<int>(count[0]) % 16 >= 8;
  const auto form = is_bytes ? msg::BodyForm::bytes : msg::BodyForm::document;
  check_delivery(form, parts);
  check_component(form, parts);
  return 0;
}
