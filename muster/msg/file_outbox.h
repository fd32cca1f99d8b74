// FileOutbox: messages that are kept until they are handled, in a file.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/base/journal.h"
#include "muster/base/result.h"
#include "muster/msg/outbox_store.h"

namespace muster::msg {

struct FileOutboxOptions {
  JournalOptions journal = {};
  // The file is written anew without what was removed once that is most of it,
  // and it is larger than this.
  std::uint64_t compacts_from = std::uint64_t{4} << 20;
};

class FileOutbox final : public OutboxStore {
 public:
  static Result<std::unique_ptr<FileOutbox>> open(const std::string& path,
                                                  const FileOutboxOptions& options = {});

  // Once.
  Result<std::vector<StoredMessage>> load() override;
  Status write(std::span<const StoredMessage> added, std::span<const MessageId> removed) override;

  std::uint64_t file_size() const { return journal_->size(); }

 private:
  explicit FileOutbox(const FileOutboxOptions& options) : options_(options) {}

  Status compact_if_due();

  const FileOutboxOptions options_;
  std::unique_ptr<Journal> journal_;
  std::vector<StoredMessage> found_;          // Until they are loaded.
  std::map<MessageId, std::uint64_t> sizes_;  // Of what is there, in the file,
  std::uint64_t live_ = 0;                    // and their sum.
};

}  // namespace muster::msg
