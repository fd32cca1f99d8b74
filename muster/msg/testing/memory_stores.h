// Stores in memory, which outlive the components of a test.

#pragma once

#include <set>
#include <span>
#include <vector>

#include "muster/msg/dedup_store.h"
#include "muster/msg/outbox_store.h"

namespace muster::msg::testing {

class MemoryStore final : public DedupStore {
 public:
  Result<std::vector<HandledId>> load() override { return std::vector(ids.begin(), ids.end()); }
  Status commit(std::span<const HandledId> more) override {
    if (is_broken) return Error(Code::unavailable, "the disk is full");
    ids.insert(more.begin(), more.end());
    return ok();
  }
  Status forget(std::span<const HandledId> known) override {
    for (const HandledId& one : known) ids.erase(one);
    return ok();
  }

  std::set<HandledId> ids;
  bool is_broken = false;
};

class MemoryOutbox final : public OutboxStore {
 public:
  Result<std::vector<StoredMessage>> load() override { return messages; }
  Status write(std::span<const StoredMessage> added, std::span<const MessageId> removed) override {
    if (is_broken) return Error(Code::unavailable, "the disk is full");
    messages.insert(messages.end(), added.begin(), added.end());
    for (const MessageId& id : removed) {
      std::erase_if(messages, [&](const auto& one) { return one.message.head.message == id; });
    }
    return ok();
  }

  std::vector<StoredMessage> messages;
  bool is_broken = false;
};

}  // namespace muster::msg::testing
