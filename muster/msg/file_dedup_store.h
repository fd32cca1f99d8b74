// FileDedupStore: what was handled, and what came of it, in a file.
//
// For exactly once, a handler commits what it does, as bytes, together with the
// message's id, and does nothing else; whoever starts gets all these effects back
// in order, and so has its state again:
//
//   auto store = *FileDedupStore::open(path, [&](auto effect) { apply(state, effect); });
//   component.on("add", [&](State& state, Proxy&, auto messages) -> Status {
//     MUSTER_TRY_OK(store->commit(messages[0], effect));
//     apply(state, effect);
//     return ok();
//   });
//
// Where several threads handle messages, commit() is to apply the effect, and
// compact() to take the snapshot, both under the store's lock:
//
//     store->commit(messages[0], effect, reply, [&](auto made) { apply(state, made); });
//     store->compact([&] { return bytes_of(state); });
//
// Where handlers commit nothing, their messages are committed when they have
// returned: none comes again that was, but one whose handler had not returned does.
// The reply to a task is committed with it then, or by the handler, which may give
// it with the effect.
// Any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/base/journal.h"
#include "muster/base/result.h"
#include "muster/msg/dedup_store.h"
#include "muster/wire/value.h"

namespace muster::msg {

struct FileDedupOptions {
  JournalOptions journal = {};
  // The file is written anew without what was forgotten once that is most of it,
  // and it is larger than this.
  std::uint64_t compacts_from = std::uint64_t{1} << 20;
};

class FileDedupStore final : public DedupStore {
 public:
  using Replay = std::function<void(std::span<const std::byte> effect)>;

  // Gives all effects that were committed to `replay`, a snapshot first.
  static Result<std::unique_ptr<FileDedupStore>> open(const std::string& path,
                                                      const Replay& replay = nullptr,
                                                      const FileDedupOptions& options = {});

  // All or nothing, however the process ends. Code::invalid if the message was
  // committed before: its effect is there. `reply` is what a task is answered with
  // if whoever asked never hears the answer that the handler gives. `apply` is given
  // the effect once it is in the file, before anybody else commits or compacts; it
  // must not call the store.
  Status commit(const Message& message, std::span<const std::byte> effect,
                const std::optional<wire::Value>& reply = std::nullopt,
                const Replay& apply = nullptr);
  // Replaces all effects so far by one that stands for them: the file stays small.
  // `snapshot` is asked for while nobody commits, and must not call the store; it has
  // all effects if commit() applies them.
  Status compact(const std::function<std::vector<std::byte>()>& snapshot);
  // The same with one that is there already. Whoever calls must see to it that no
  // effect was committed since it was taken, as where one thread does both: such an
  // effect is lost, though its message never comes again.
  Status compact(std::span<const std::byte> snapshot);

  Result<std::vector<Handled>> load() override;
  Status commit(std::span<const Handled> handled) override;
  Status forget(std::span<const HandledId> ids) override;

  std::uint64_t file_size() const;

 private:
  explicit FileDedupStore(const FileDedupOptions& options) : options_(options) {}

  Status replay(std::span<const std::byte> record, const Replay& replay);
  bool erase(const HandledId& id);
  Status compact_if_due();
  Status replace_effects(std::span<const std::byte> snapshot);
  Status write_handled(const Journal::Write& write) const;

  const FileDedupOptions options_;
  // The file is no part of the loop: those who write must not hold the baton.
  mutable std::mutex mutex_;
  std::unique_ptr<Journal> journal_;
  std::map<HandledId, Buffer> handled_;  // With their replies.
  std::uint64_t garbage_ = 0;            // Bytes of what was forgotten, about.
};

}  // namespace muster::msg
