#include "muster/msg/file_dedup_store.h"

#include <algorithm>
#include <utility>

#include "muster/msg/store_bytes.h"
#include "muster/msg/stored_message.h"

namespace muster::msg {
namespace {

using internal::StoreReader;
using internal::StoreWriter;

// The numbers stand in files: append, never renumber.
enum class DedupRecord : std::uint8_t {
  handled = 1,    // Ids, to the end of the record.
  forgotten = 2,  // The same.
  effect = 3,     // One id, then the effect.
  past = 4,       // An effect whose id was forgotten, or a snapshot.
  replied = 5,    // One id, then the reply.
  answer = 6,     // One id, the size of the reply, the reply, then the effect.
};

StoreWriter record_of(DedupRecord kind) {
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

StoreWriter record_of_reply(const HandledId& handled, const Buffer& reply) {
  StoreWriter writer = record_of(DedupRecord::replied);
  write(writer, handled);
  writer.bytes(reply.bytes());
  return writer;
}

// As the proxy has it that replies.
Result<Buffer> reply_to(const Message& message, const wire::Value& value) {
  if (!message.is_request() || message.session_type() != SessionType::task) {
    return Error(Code::invalid, "commit: only a task has a reply");
  }
  MUSTER_TRY(EncodedBody body, encode_body(value));
  OutgoingMessage reply;
  reply.head.kind = MessageKind::task_complete;
  reply.head.form = body.form;
  reply.head.compression = body.compression;
  reply.head.session = message.session_id();
  reply.head.message = message.message_id();
  reply.head.tag = message.tag();
  reply.parts = std::move(body.parts);
  reply.priority = message.priority();
  return internal::message_to_bytes(reply);
}

const Error kDamagedStore(Code::invalid, "open a store of handled messages: a record is damaged");

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
  const auto kind = static_cast<DedupRecord>(reader.number<std::uint8_t>());
  switch (kind) {
    case DedupRecord::handled:
      while (!reader.empty()) handled_.try_emplace(read_handled(reader));
      break;
    case DedupRecord::forgotten:
      while (!reader.empty()) erase(read_handled(reader));
      break;
    case DedupRecord::effect: handled_.try_emplace(read_handled(reader)); break;
    case DedupRecord::replied: {
      HandledId one = read_handled(reader);
      handled_[std::move(one)] = Buffer::copy_of(reader.rest());
      break;
    }
    case DedupRecord::answer: {
      HandledId one = read_handled(reader);
      handled_[std::move(one)] = Buffer::copy_of(reader.bytes(reader.number<std::uint64_t>()));
      break;
    }
    case DedupRecord::past: break;
    default: return kDamagedStore;
  }
  if (!reader.is_whole()) return kDamagedStore;
  const bool has_effect =
      kind == DedupRecord::effect || kind == DedupRecord::past || kind == DedupRecord::answer;
  if (has_effect && replay != nullptr) replay(reader.rest());
  return ok();
}

// False if it is not there.
bool FileDedupStore::erase(const HandledId& id) {
  const auto found = handled_.find(id);
  if (found == handled_.end()) return false;
  garbage_ += 2 * size_of(id) + found->second.size();
  handled_.erase(found);
  return true;
}

Status FileDedupStore::commit(const Message& message, std::span<const std::byte> effect,
                              const std::optional<wire::Value>& reply, const Replay& apply) {
  HandledId handled{std::string(message.source()), message.message_id()};
  Buffer answer;
  if (reply) {
    MUSTER_TRY(answer, reply_to(message, *reply));
  }
  const std::scoped_lock lock(mutex_);
  if (handled_.contains(handled)) {
    return Error(Code::invalid, "commit: the message was handled before");
  }
  StoreWriter writer = record_of(reply ? DedupRecord::answer : DedupRecord::effect);
  write(writer, handled);
  if (reply) {
    writer.number(std::uint64_t{answer.size()});
    writer.bytes(answer.bytes());
  }
  writer.bytes(effect);
  MUSTER_TRY_OK(journal_->append(writer.written()));
  handled_.emplace(std::move(handled), std::move(answer));
  if (apply != nullptr) apply(effect);
  return ok();
}

Result<std::vector<Handled>> FileDedupStore::load() {
  const std::scoped_lock lock(mutex_);
  std::vector<Handled> all;
  all.reserve(handled_.size());
  for (const auto& [id, reply] : handled_) all.push_back({id, reply});
  return all;
}

Status FileDedupStore::commit(std::span<const Handled> handled) {
  const std::scoped_lock lock(mutex_);
  std::vector<StoreWriter> records{record_of(DedupRecord::handled)};
  for (const Handled& one : handled) {
    const auto found = handled_.find(one);
    const bool is_new = found == handled_.end();
    if (!one.reply.empty() && (is_new || found->second.empty())) {
      records.push_back(record_of_reply(one, one.reply));
    } else if (is_new) {
      write(records[0], one);
    }
  }
  std::vector<std::span<const std::byte>> bytes;
  for (const StoreWriter& record : records) bytes.push_back(record.written());
  if (bytes[0].size() == 1) bytes.erase(bytes.begin());  // No ids.
  if (bytes.empty()) return ok();
  MUSTER_TRY_OK(journal_->append_all(bytes));
  for (const Handled& one : handled) {
    Buffer& reply = handled_[one];
    if (reply.empty()) reply = one.reply;
  }
  return ok();
}

Status FileDedupStore::forget(std::span<const HandledId> ids) {
  const std::scoped_lock lock(mutex_);
  StoreWriter writer = record_of(DedupRecord::forgotten);
  for (const HandledId& one : ids) {
    if (erase(one)) write(writer, one);
  }
  if (writer.written().size() == 1) return ok();
  MUSTER_TRY_OK(journal_->append(writer.written()));
  return compact_if_due();
}

Status FileDedupStore::write_handled(const Journal::Write& write_record) const {
  StoreWriter ids = record_of(DedupRecord::handled);
  bool has_ids = false;
  for (const auto& [id, reply] : handled_) {
    if (reply.empty()) {
      write(ids, id);
      has_ids = true;
    } else {
      MUSTER_TRY_OK(write_record(record_of_reply(id, reply).written()));
    }
  }
  return has_ids ? write_record(ids.written()) : ok();
}

// Effects stay: only the user knows what stands for several of them.
Status FileDedupStore::compact_if_due() {
  if (journal_->size() < options_.compacts_from || 2 * garbage_ < journal_->size()) return ok();
  MUSTER_TRY_OK(journal_->rewrite([this](const Journal::Write& write_record) -> Status {
    MUSTER_TRY_OK(journal_->read([&](std::span<const std::byte> record) -> Status {
      StoreReader reader(record);
      const auto kind = static_cast<DedupRecord>(reader.number<std::uint8_t>());
      if (kind == DedupRecord::past) return write_record(record);
      if (kind != DedupRecord::effect && kind != DedupRecord::answer) return ok();
      static_cast<void>(read_handled(reader));
      if (kind == DedupRecord::answer) reader.bytes(reader.number<std::uint64_t>());
      StoreWriter past = record_of(DedupRecord::past);
      past.bytes(reader.rest());
      return write_record(past.written());
    }));
    return write_handled(write_record);
  }));
  garbage_ = 0;
  return ok();
}

Status FileDedupStore::compact(const std::function<std::vector<std::byte>()>& snapshot) {
  const std::scoped_lock lock(mutex_);
  return replace_effects(snapshot());
}

Status FileDedupStore::compact(std::span<const std::byte> snapshot) {
  const std::scoped_lock lock(mutex_);
  return replace_effects(snapshot);
}

Status FileDedupStore::replace_effects(std::span<const std::byte> snapshot) {
  MUSTER_TRY_OK(journal_->rewrite([&](const Journal::Write& write_record) -> Status {
    StoreWriter past = record_of(DedupRecord::past);
    past.bytes(snapshot);
    MUSTER_TRY_OK(write_record(past.written()));
    return write_handled(write_record);
  }));
  garbage_ = 0;
  return ok();
}

std::uint64_t FileDedupStore::file_size() const {
  const std::scoped_lock lock(mutex_);
  return journal_->size();
}

}  // namespace muster::msg
