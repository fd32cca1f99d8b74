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
  // All of it or, with an error, nothing.
  Status write(std::span<const StoredMessage> added, std::span<const MessageId> removed) override;

  std::uint64_t file_size() const { return journal_->size(); }

 private:
  explicit FileOutbox(const FileOutboxOptions& options)
      : options_(options), compacts_from_(options.compacts_from) {}

  void compact_if_due();
  Status compact();

  const FileOutboxOptions options_;
  std::uint64_t compacts_from_;  // More than was asked for if that has failed.
  std::unique_ptr<Journal> journal_;
  std::vector<StoredMessage> found_;          // Until they are loaded.
  std::map<MessageId, std::uint64_t> sizes_;  // Of what is there, in the file,
  std::uint64_t live_ = 0;                    // and their sum.
};

}  // namespace muster::msg
