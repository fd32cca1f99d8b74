#include "muster/msg/stored_message.h"

#include <algorithm>
#include <cstdint>

#include "muster/net/link_head.h"
#include "muster/wire/frame.h"

namespace muster::msg::internal {

void write_message(StoreWriter& writer, const OutgoingMessage& message) {
  writer.number(static_cast<std::uint8_t>(message.priority));
  wire::Head head;
  write_message_head(message.head, head);
  const auto bytes = head.bytes().subspan(net::kLinkHead);
  writer.number(static_cast<std::uint32_t>(bytes.size()));
  writer.bytes(bytes);
  writer.number(static_cast<std::uint32_t>(message.parts.size()));
  for (const Buffer& part : message.parts) {
    writer.number(std::uint64_t{part.size()});
    writer.bytes(part.bytes());
  }
}

std::optional<OutgoingMessage> read_message(StoreReader& reader) {
  OutgoingMessage message;
  message.priority = static_cast<Priority>(reader.number<std::uint8_t>());
  const auto bytes = reader.bytes(reader.number<std::uint32_t>());
  if (bytes.size() > net::kMaxUserHead) return std::nullopt;
  wire::Head head;
  std::ranges::copy(bytes, head.resize(net::kLinkHead + bytes.size()).data() + net::kLinkHead);
  if (read_message_head(head, message.head) != nullptr) return std::nullopt;
  const auto parts = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < parts && !reader.empty(); ++i) {
    message.parts.push_back(Buffer::copy_of(reader.bytes(reader.number<std::uint64_t>())));
  }
  const bool is_priority = static_cast<std::size_t>(message.priority) < net::kPriorities;
  if (!reader.is_whole() || message.parts.size() != parts || !is_priority) return std::nullopt;
  return message;
}

Buffer message_to_bytes(const OutgoingMessage& message) {
  StoreWriter writer;
  write_message(writer, message);
  return Buffer::copy_of(writer.written());
}

std::optional<OutgoingMessage> message_from_bytes(const Buffer& bytes) {
  StoreReader reader(bytes.bytes());
  std::optional<OutgoingMessage> message = read_message(reader);
  if (!reader.empty()) return std::nullopt;
  return message;
}

}  // namespace muster::msg::internal
