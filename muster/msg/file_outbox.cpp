#include "muster/msg/file_outbox.h"

#include <optional>
#include <utility>

#include "muster/base/log.h"
#include "muster/msg/store_bytes.h"
#include "muster/msg/stored_message.h"

namespace muster::msg {
namespace {

using internal::StoreReader;
using internal::StoreWriter;
using std::chrono::milliseconds;
using std::chrono::system_clock;

// The numbers stand in files: append, never renumber.
enum class OutboxRecord : std::uint8_t { added = 1, removed = 2 };

constexpr std::uint8_t number_of(OutboxRecord kind) { return static_cast<std::uint8_t>(kind); }

StoreWriter record_of(const StoredMessage& stored) {
  StoreWriter writer;
  writer.number(number_of(OutboxRecord::added));
  writer.text(stored.destination);
  const auto since =
      stored.deadline ? stored.deadline->time_since_epoch() : system_clock::duration();
  writer.number(std::int64_t{std::chrono::duration_cast<milliseconds>(since).count()});
  internal::write_message(writer, stored.message);
  return writer;
}

// What a time of day can be.
constexpr auto kFirst = std::chrono::ceil<milliseconds>(system_clock::duration::min());
constexpr auto kLast = std::chrono::floor<milliseconds>(system_clock::duration::max());

// None if the record is damaged.
std::optional<StoredMessage> read_stored(StoreReader& reader) {
  StoredMessage stored;
  stored.destination = reader.text();
  if (const auto since = milliseconds(reader.number<std::int64_t>()); since.count() != 0) {
    if (since < kFirst || since > kLast) return std::nullopt;
    stored.deadline = system_clock::time_point(since);
  }
  std::optional<OutgoingMessage> message = internal::read_message(reader);
  if (!message) return std::nullopt;
  stored.message = *std::move(message);
  return stored;
}

const Error kDamagedOutbox(Code::invalid, "open an outbox: a record is damaged");

}  // namespace

Result<std::unique_ptr<FileOutbox>> FileOutbox::open(const std::string& path,
                                                     const FileOutboxOptions& options) {
  std::unique_ptr<FileOutbox> outbox(new FileOutbox(options));
  const auto on_record = [&](std::span<const std::byte> record) -> Status {
    StoreReader reader(record);
    const auto kind = reader.number<std::uint8_t>();
    if (kind == number_of(OutboxRecord::removed)) {
      while (!reader.empty()) outbox->sizes_.erase(reader.id());
      return reader.is_whole() ? ok() : Status(kDamagedOutbox);
    }
    if (kind != number_of(OutboxRecord::added)) return kDamagedOutbox;
    std::optional<StoredMessage> stored = read_stored(reader);
    if (!stored) return kDamagedOutbox;
    outbox->sizes_.emplace(stored->message.head.message, record.size());
    outbox->found_.push_back(*std::move(stored));
    return ok();
  };
  MUSTER_TRY(Journal journal, Journal::open(path, on_record, options.journal));
  outbox->journal_ = std::make_unique<Journal>(std::move(journal));
  std::erase_if(outbox->found_, [&](const StoredMessage& stored) {
    return !outbox->sizes_.contains(stored.message.head.message);
  });
  for (const auto& [id, size] : outbox->sizes_) outbox->live_ += size;
  return outbox;
}

Result<std::vector<StoredMessage>> FileOutbox::load() { return std::exchange(found_, {}); }

Status FileOutbox::write(std::span<const StoredMessage> added, std::span<const MessageId> removed) {
  std::vector<StoreWriter> records;
  if (!removed.empty()) {
    StoreWriter& writer = records.emplace_back();
    writer.number(number_of(OutboxRecord::removed));
    for (const MessageId& id : removed) writer.id(id);
  }
  for (const StoredMessage& one : added) records.push_back(record_of(one));
  std::vector<std::span<const std::byte>> bytes;
  for (const StoreWriter& writer : records) bytes.push_back(writer.written());
  MUSTER_TRY_OK(journal_->append_all(bytes));
  for (const MessageId& id : removed) {
    const auto found = sizes_.find(id);
    if (found == sizes_.end()) continue;
    live_ -= found->second;
    sizes_.erase(found);
  }
  const std::size_t first = records.size() - added.size();
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::uint64_t size = bytes[first + i].size();
    if (sizes_.emplace(added[i].message.head.message, size).second) live_ += size;
  }
  compact_if_due();
  return ok();
}

// What was written stays written though this fails: the file is larger than it need be.
void FileOutbox::compact_if_due() {
  if (journal_->size() < compacts_from_ || 2 * live_ > journal_->size()) return;
  const Status compacted = compact();
  compacts_from_ = options_.compacts_from;
  if (compacted) return;
  compacts_from_ += journal_->size();  // Not at every message.
  log::warning("compact an outbox: " + compacted.error().describe());
}

Status FileOutbox::compact() {
  return journal_->rewrite([this](const Journal::Write& write_record) {
    return journal_->read([&](std::span<const std::byte> record) -> Status {
      StoreReader reader(record);
      if (reader.number<std::uint8_t>() != number_of(OutboxRecord::added)) return ok();
      const std::optional<StoredMessage> stored = read_stored(reader);
      if (!stored || !sizes_.contains(stored->message.head.message)) return ok();
      return write_record(record);
    });
  });
}

}  // namespace muster::msg
