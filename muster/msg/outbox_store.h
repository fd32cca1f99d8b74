// OutboxStore: keeps what is to be handled at least once where a killed sender
// finds it again.

#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/msg/outbox.h"

namespace muster::msg {

struct StoredMessage {
  std::string destination;
  OutgoingMessage message;
  // By the time of day: the clock of a process ends with it.
  std::optional<std::chrono::system_clock::time_point> deadline;
};

// Called by any thread, never under the baton, by one at a time.
class OutboxStore {
 public:
  virtual ~OutboxStore() = default;

  // All that was added and not removed, in the order of adding. Asked once, when
  // a proxy starts.
  virtual Result<std::vector<StoredMessage>> load() = 0;
  // Both, for good, before it returns. After an error none of `added` may be found
  // again: their senders hear that they were not sent.
  virtual Status write(std::span<const StoredMessage> added,
                       std::span<const MessageId> removed) = 0;
};

}  // namespace muster::msg
