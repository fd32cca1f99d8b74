// What a receiver tells the sender of messages that are to be handled at least once.
//
// docs/reference/wire.md has the form. Pure.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "muster/base/error.h"
#include "muster/base/result.h"
#include "muster/msg/message.h"
#include "muster/msg/message_codec.h"

namespace muster::msg {

struct DoneMessage {
  // Of a task. The numbers travel: append, never renumber.
  enum class Reply : std::uint8_t {
    none = 0,  // There was none when this was said; or it was not kept.
    kept = 1,  // It goes out on every link until this is heard.
    lost = 2,  // With the process that was done with it.
  };

  MessageId id;
  std::optional<Error> refused = std::nullopt;  // It was not, and will not be, handled.
  Reply reply = Reply::none;

  friend bool operator==(const DoneMessage&, const DoneMessage&) = default;
};

struct DeliveryReport {
  std::vector<DoneMessage> done;  // In the order in which the receiver was done with them.
  std::vector<MessageId> held;    // They have come, and are not done.

  friend bool operator==(const DeliveryReport&, const DeliveryReport&) = default;
};

Result<EncodedBody> encode_report(const DeliveryReport& report);
// Code::invalid if it is none.
Result<DeliveryReport> decode_report(BodyForm form, Compression compression,
                                     std::span<const Buffer> parts, const BodyLimits& limits = {});

}  // namespace muster::msg
