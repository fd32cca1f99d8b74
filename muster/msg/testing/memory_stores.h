// Stores in memory, which outlive the components of a test.

#pragma once

#include <map>
#include <span>
#include <vector>

#include "muster/msg/dedup_store.h"
#include "muster/msg/outbox_store.h"

namespace muster::msg::testing {

class MemoryStore final : public DedupStore {
 public:
  Result<std::vector<Handled>> load() override {
    std::vector<Handled> all;
    for (const auto& [id, reply] : ids) all.push_back({id, reply});
    return all;
  }
  Status commit(std::span<const Handled> more) override {
    if (is_broken) return Error(Code::unavailable, "the disk is full");
    for (const Handled& one : more) {
      Buffer& reply = ids[one];
      if (reply.empty()) reply = one.reply;
    }
    return ok();
  }
  Status forget(std::span<const HandledId> known) override {
    for (const HandledId& one : known) ids.erase(one);
    return ok();
  }

  std::map<HandledId, Buffer> ids;  // With their replies.
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
