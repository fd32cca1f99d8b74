#include "muster/msg/file_outbox.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "muster/msg/store_bytes.h"
#include "muster/wire/frame.h"

namespace muster::msg {
namespace {

using internal::StoreReader;
using internal::StoreWriter;
using std::chrono::milliseconds;
using std::chrono::system_clock;

// The numbers stand in files: append, never renumber.
enum class Kind : std::uint8_t { added = 1, removed = 2 };

StoreWriter record_of(const StoredMessage& stored) {
  StoreWriter writer;
  writer.number(static_cast<std::uint8_t>(Kind::added));
  writer.text(stored.destination);
  const auto since =
      stored.deadline ? stored.deadline->time_since_epoch() : system_clock::duration();
  writer.number(std::int64_t{std::chrono::duration_cast<milliseconds>(since).count()});
  const OutgoingMessage& message = stored.message;
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
  return writer;
}

// None if the record is damaged.
std::optional<StoredMessage> read_message(StoreReader& reader) {
  StoredMessage stored;
  stored.destination = reader.text();
  if (const auto since = reader.number<std::int64_t>(); since != 0) {
    stored.deadline = system_clock::time_point(milliseconds(since));
  }
  stored.message.priority = static_cast<Priority>(reader.number<std::uint8_t>());
  const auto bytes = reader.bytes(reader.number<std::uint32_t>());
  if (bytes.size() > net::kMaxUserHead) return std::nullopt;
  wire::Head head;
  std::ranges::copy(bytes, head.resize(net::kLinkHead + bytes.size()).data() + net::kLinkHead);
  if (read_message_head(head, stored.message.head) != nullptr) return std::nullopt;
  const auto parts = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < parts && !reader.empty(); ++i) {
    stored.message.parts.push_back(Buffer::copy_of(reader.bytes(reader.number<std::uint64_t>())));
  }
  const bool is_priority = static_cast<std::size_t>(stored.message.priority) < net::kPriorities;
  if (!reader.is_whole() || stored.message.parts.size() != parts || !is_priority) {
    return std::nullopt;
  }
  return stored;
}

const Error kDamaged(Code::invalid, "open an outbox: a record is damaged");

}  // namespace

Result<std::unique_ptr<FileOutbox>> FileOutbox::open(const std::string& path,
                                                     const FileOutboxOptions& options) {
  std::unique_ptr<FileOutbox> outbox(new FileOutbox(options));
  const auto on_record = [&](std::span<const std::byte> record) -> Status {
    StoreReader reader(record);
    if (static_cast<Kind>(reader.number<std::uint8_t>()) == Kind::removed) {
      while (!reader.empty()) outbox->sizes_.erase(reader.id());
      return ok();
    }
    std::optional<StoredMessage> stored = read_message(reader);
    if (!stored) return kDamaged;
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
  if (!removed.empty()) {
    StoreWriter writer;
    writer.number(static_cast<std::uint8_t>(Kind::removed));
    for (const MessageId& id : removed) writer.id(id);
    MUSTER_TRY_OK(journal_->append(writer.written()));
    for (const MessageId& id : removed) {
      const auto found = sizes_.find(id);
      if (found == sizes_.end()) continue;
      live_ -= found->second;
      sizes_.erase(found);
    }
  }
  for (const StoredMessage& one : added) {
    const StoreWriter writer = record_of(one);
    MUSTER_TRY_OK(journal_->append(writer.written()));
    sizes_.emplace(one.message.head.message, writer.written().size());
    live_ += writer.written().size();
  }
  return compact_if_due();
}

Status FileOutbox::compact_if_due() {
  if (journal_->size() < options_.compacts_from || 2 * live_ > journal_->size()) return ok();
  return journal_->rewrite([this](const Journal::Write& write_record) {
    return journal_->read([&](std::span<const std::byte> record) -> Status {
      StoreReader reader(record);
      if (static_cast<Kind>(reader.number<std::uint8_t>()) != Kind::added) return ok();
      const std::optional<StoredMessage> stored = read_message(reader);
      if (!stored || !sizes_.contains(stored->message.head.message)) return ok();
      return write_record(record);
    });
  });
}

}  // namespace muster::msg
