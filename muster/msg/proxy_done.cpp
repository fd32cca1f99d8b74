// A proxy's side of delivery at least once that calls the user's stores, and so
// never holds the baton while it does.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/log.h"
#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/stored_message.h"

namespace muster::msg {

using internal::ProxyCore;
using loop::Turn;

Status Proxy::done(const Message& message) { return done(std::span(&message, 1)); }

Status Proxy::done(std::span<const Message> messages) {
  MUSTER_TRY_OK(core_->check_process());
  for (const Message& message : messages) {
    if (!message) return Error(Code::invalid, "done: there is no message");
  }
  if (core_->options().dedup != nullptr) MUSTER_TRY_OK(commit(messages));
  Status said = ok();
  {
    const Turn turn(core_->loop());
    for (const Message& message : messages) {
      if (!message.is_kept()) continue;
      Status one = core_->done(message.peer(), message.message_id());
      if (!one && said) said = std::move(one);
    }
  }
  forget_handled();
  return said;
}

// With their replies, so that those who asked get them from whoever follows us.
Status Proxy::commit(std::span<const Message> messages) {
  std::vector<Handled> handled;
  for (const Message& message : messages) {
    if (!message.is_kept()) continue;
    std::optional<OutgoingMessage> reply;
    if (message.is_answered()) {
      const Turn turn(core_->loop());
      reply = core_->reply_to(message.peer(), message.message_id());
    }
    handled.push_back({{std::string(message.source()), message.message_id()},
                       reply ? internal::message_to_bytes(*reply) : Buffer()});
  }
  return handled.empty() ? ok() : core_->options().dedup->commit(handled);
}

Status Proxy::refuse(const Message& message, const Error& why) {
  MUSTER_TRY_OK(core_->check_process());
  if (!message) return Error(Code::invalid, "refuse: there is no message");
  if (!message.is_kept()) return ok();
  const Turn turn(core_->loop());
  return core_->done(message.peer(), message.message_id(), why);
}

void Proxy::forget_handled() {
  if (!core_->has_forgotten()) return;
  std::vector<HandledId> forgotten;
  {
    const Turn turn(core_->loop());
    forgotten = core_->take_forgotten();
  }
  // To remember too much costs room, nothing else.
  if (Status status = core_->options().dedup->forget(forgotten); !status) {
    log::warning("forget handled messages: " + status.error().describe());
  }
}

Status Proxy::write_kept() {
  if (core_->options().outbox == nullptr) return ok();
  const std::scoped_lock lock(core_->writing);
  ProxyCore::Unwritten unwritten;
  {
    const Turn turn(core_->loop());
    unwritten = core_->take_unwritten();
  }
  if (unwritten.empty()) return ok();  // Another thread has done it.
  Status status = core_->options().outbox->write(unwritten.added, unwritten.removed);
  const Turn turn(core_->loop());
  core_->stored(unwritten, status);
  return status;
}

}  // namespace muster::msg
