#include "muster/msg/file_dedup_store.h"

#include <algorithm>
#include <utility>

#include "muster/msg/store_bytes.h"

namespace muster::msg {
namespace {

using internal::StoreReader;
using internal::StoreWriter;

// The numbers stand in files: append, never renumber.
enum class Kind : std::uint8_t {
  handled = 1,    // Ids, to the end of the record.
  forgotten = 2,  // The same.
  effect = 3,     // One id, then the effect.
  past = 4,       // An effect whose id was forgotten, or a snapshot.
};

StoreWriter record_of(Kind kind) {
  StoreWriter writer;
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}

void write(StoreWriter& writer, const HandledId& handled) {
  writer.text(handled.source);
  writer.id(handled.id);
}

HandledId read_handled(StoreReader& reader) {
  std::string source = reader.text();
  return {std::move(source), reader.id()};
}

std::uint64_t size_of(const HandledId& handled) { return 20 + handled.source.size(); }

const Error kDamaged(Code::invalid, "open a store of handled messages: a record is damaged");

}  // namespace

Result<std::unique_ptr<FileDedupStore>> FileDedupStore::open(const std::string& path,
                                                             const Replay& replay,
                                                             const FileDedupOptions& options) {
  std::unique_ptr<FileDedupStore> store(new FileDedupStore(options));
  MUSTER_TRY(
      Journal journal,
      Journal::open(
          path, [&](std::span<const std::byte> record) { return store->replay(record, replay); },
          options.journal));
  store->journal_ = std::make_unique<Journal>(std::move(journal));
  return store;
}

Status FileDedupStore::replay(std::span<const std::byte> record, const Replay& replay) {
  StoreReader reader(record);
  const auto kind = static_cast<Kind>(reader.number<std::uint8_t>());
  const bool has_effect = kind == Kind::effect || kind == Kind::past;
  if (kind == Kind::effect) ids_.insert(read_handled(reader));
  while (!has_effect && !reader.empty()) {
    HandledId one = read_handled(reader);
    if (kind == Kind::handled) {
      ids_.insert(std::move(one));
    } else if (kind == Kind::forgotten) {
      garbage_ += 2 * size_of(one);
      ids_.erase(one);
    } else {
      return kDamaged;
    }
  }
  if (has_effect && replay != nullptr && reader.is_whole()) replay(reader.rest());
  return reader.is_whole() ? ok() : Status(kDamaged);
}

Status FileDedupStore::commit(const Message& message, std::span<const std::byte> effect) {
  HandledId handled{std::string(message.source()), message.message_id()};
  const std::scoped_lock lock(mutex_);
  if (ids_.contains(handled)) return Error(Code::invalid, "commit: the message was handled before");
  StoreWriter writer = record_of(Kind::effect);
  write(writer, handled);
  writer.bytes(effect);
  MUSTER_TRY_OK(journal_->append(writer.written()));
  ids_.insert(std::move(handled));
  return ok();
}

Result<std::vector<HandledId>> FileDedupStore::load() {
  const std::scoped_lock lock(mutex_);
  return std::vector<HandledId>(ids_.begin(), ids_.end());
}

Status FileDedupStore::commit(std::span<const HandledId> ids) {
  const std::scoped_lock lock(mutex_);
  StoreWriter writer = record_of(Kind::handled);
  std::vector<const HandledId*> added;
  for (const HandledId& one : ids) {
    if (ids_.contains(one)) continue;
    write(writer, one);
    added.push_back(&one);
  }
  if (added.empty()) return ok();
  MUSTER_TRY_OK(journal_->append(writer.written()));
  for (const HandledId* one : added) ids_.insert(*one);
  return ok();
}

Status FileDedupStore::forget(std::span<const HandledId> ids) {
  const std::scoped_lock lock(mutex_);
  StoreWriter writer = record_of(Kind::forgotten);
  for (const HandledId& one : ids) {
    if (ids_.erase(one) == 0) continue;
    write(writer, one);
    garbage_ += 2 * size_of(one);
  }
  if (writer.written().size() == 1) return ok();
  MUSTER_TRY_OK(journal_->append(writer.written()));
  return compact_if_due();
}

Status FileDedupStore::write_ids(const Journal::Write& write_record) const {
  StoreWriter writer = record_of(Kind::handled);
  for (const HandledId& one : ids_) write(writer, one);
  return ids_.empty() ? ok() : write_record(writer.written());
}

// Effects stay: only the user knows what stands for several of them.
Status FileDedupStore::compact_if_due() {
  if (journal_->size() < options_.compacts_from || 2 * garbage_ < journal_->size()) return ok();
  MUSTER_TRY_OK(journal_->rewrite([this](const Journal::Write& write_record) -> Status {
    MUSTER_TRY_OK(journal_->read([&](std::span<const std::byte> record) -> Status {
      StoreReader reader(record);
      const auto kind = static_cast<Kind>(reader.number<std::uint8_t>());
      if (kind == Kind::past) return write_record(record);
      if (kind != Kind::effect) return ok();
      static_cast<void>(read_handled(reader));
      StoreWriter past = record_of(Kind::past);
      past.bytes(reader.rest());
      return write_record(past.written());
    }));
    return write_ids(write_record);
  }));
  garbage_ = 0;
  return ok();
}

Status FileDedupStore::compact(std::span<const std::byte> snapshot) {
  const std::scoped_lock lock(mutex_);
  MUSTER_TRY_OK(journal_->rewrite([&](const Journal::Write& write_record) -> Status {
    StoreWriter past = record_of(Kind::past);
    past.bytes(snapshot);
    MUSTER_TRY_OK(write_record(past.written()));
    return write_ids(write_record);
  }));
  garbage_ = 0;
  return ok();
}

std::uint64_t FileDedupStore::file_size() const {
  const std::scoped_lock lock(mutex_);
  return journal_->size();
}

}  // namespace muster::msg
