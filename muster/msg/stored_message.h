// A message on its way as it stands in the record of a store. Pure; nothing read
// is trusted.

#pragma once

#include <optional>

#include "muster/base/buffer.h"
#include "muster/msg/outbox.h"
#include "muster/msg/store_bytes.h"

namespace muster::msg::internal {

void write_message(StoreWriter& writer, const OutgoingMessage& message);
// None if it is damaged.
std::optional<OutgoingMessage> read_message(StoreReader& reader);

// The same, as bytes that hold one message and nothing else.
Buffer message_to_bytes(const OutgoingMessage& message);
std::optional<OutgoingMessage> message_from_bytes(const Buffer& bytes);

}  // namespace muster::msg::internal
