// A proxy's receiving calls, and what answers a message.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"

namespace muster::msg {

using internal::ProxyCore;
using internal::Waited;
using loop::Turn;

Result<Message> Proxy::to_message(const Result<Incoming>& outcome) const {
  if (!outcome) return outcome.error();
  MUSTER_TRY(Message message, core_->make_message(*outcome));
  if (message.is_failure()) return message.failure();
  return message;
}

Result<std::optional<Message>> Proxy::receive_once(const Wait& wait) {
  return receive_next(std::nullopt, wait);
}

std::uint64_t Proxy::changes() const {
  if (!core_->is_this_process()) return 0;
  const Turn turn(core_->loop());
  return core_->changes();
}

std::uint64_t Proxy::rooms() const {
  if (!core_->is_this_process()) return 0;
  const Turn turn(core_->loop());
  return core_->rooms();
}

Result<std::optional<Message>> Proxy::receive_next(std::optional<std::uint64_t> seen,
                                                   const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  loop::Loop& loop = core_->loop();
  const TimePoint deadline = wait.deadline_from([&] { return loop.now(); });
  for (;;) {
    std::optional<Incoming> taken;
    std::optional<Error> end;
    const Waited waited = attend(wait, deadline, [&] {
      if (taken || end) return true;
      if (seen && *seen != core_->changes()) return true;
      if (core_->has_waiting()) {
        taken.emplace(core_->take_waiting());
      } else {
        end = core_->end();
      }
      return taken || end;
    });
    forget_handled();
    if (end) return *std::move(end);
    if (waited == Waited::cancelled) return internal::why_not(waited, "receive");
    if (!taken) return std::optional<Message>();
    Result<Message> message = core_->make_message(*taken);
    if (message) return std::optional<Message>(*std::move(message));
    const Turn turn(loop);
    core_->refuse(*taken, message.error());
  }
}

void Proxy::when_receivable(std::function<void()> action) {
  if (!core_->is_this_process()) return;
  const Turn turn(core_->loop());
  core_->when_receivable(std::move(action));
}

Status Proxy::unreadable(const Message& message, const Error& why) {
  MUSTER_TRY_OK(core_->check_process());
  if (!message || !message.peer()) {
    return Error(Code::invalid, "unreadable: this is no message that came");
  }
  if (message.is_request() && message.session_type() == SessionType::task &&
      !MessageMaker::claim(message, Stage::complete)) {
    return Error(Code::invalid, "unreadable: the message was answered before");
  }
  Incoming incoming;
  incoming.head.kind = kind_of(message.session_type(), message.stage());
  incoming.head.session = message.session_id();
  incoming.head.tag = message.tag();
  incoming.peer = message.peer();
  incoming.source = Buffer::copy_of(message.source());
  const Turn turn(core_->loop());
  core_->refuse(incoming, why);
  return message.is_kept() ? core_->done(message.peer(), message.message_id(), why) : ok();
}

Proxy::Reception Proxy::receive(const Wait& wait) { return {*this, wait}; }

void Proxy::Reception::next() {
  message_ = Message();
  Result<std::optional<Message>> next = proxy_.receive_once(wait_);
  if (next && *next) message_ = **std::move(next);
}

Result<Replies> Proxy::receive_by_id(const std::vector<SessionId>& ids, const Wait& wait) {
  return collect(ids, {.cancels_rest = false}, wait);
}

Result<Replies> Proxy::collect(const std::vector<SessionId>& ids, const Enough& enough,
                               const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  loop::Loop& loop = core_->loop();
  const double share = std::clamp(enough.fraction, 0.0, 1.0) * static_cast<double>(ids.size());
  const auto need = std::max(enough.count, static_cast<std::size_t>(std::ceil(share)));
  const bool wants_all = need == 0 || need >= ids.size();
  const TimePoint deadline = wait.deadline_from([&] { return loop.now(); });
  SessionWatch watch;
  {
    const Turn turn(loop);
    MUSTER_TRY_OK(core_->sessions().watch(ids, watch));
  }
  Waited waited = attend(wait, deadline,
                         [&] { return watch.left == 0 || (!wants_all && watch.answered >= need); });
  if (waited == Waited::done && !wants_all) {
    const TimePoint patience = std::min(deadline, loop.now() + enough.grace);
    waited = attend(wait, patience, [&] { return watch.left == 0; });
  }
  if (waited == Waited::cancelled) {
    const Turn turn(loop);
    core_->sessions().unwatch(ids);
    return internal::why_not(waited, fmt::format("wait for {} answers", ids.size()));
  }
  return take_replies(ids, enough.cancels_rest);
}

Result<Replies> Proxy::take_replies(const std::vector<SessionId>& ids, bool cancels_rest) {
  struct Taken {
    SessionId id;
    std::string peer;
    Result<Incoming> outcome;
  };
  Replies replies;
  std::vector<Taken> taken;
  taken.reserve(ids.size());
  {
    const Turn turn(core_->loop());
    SessionTable& sessions = core_->sessions();
    sessions.unwatch(ids);
    for (const SessionId id : ids) {
      const PeerRecord* peer = core_->peers().find(sessions.peer_of(id));
      if (auto outcome = sessions.take_outcome(id)) {
        taken.push_back({id, peer != nullptr ? peer->member.name : "", *std::move(outcome)});
      } else {
        replies.missing.push_back(id);
        if (cancels_rest) sessions.forget(id);
      }
    }
  }
  for (Taken& one : taken) {
    Result<Message> message = to_message(one.outcome);
    if (message) {
      replies.messages.push_back(*std::move(message));
    } else {
      replies.failures.push_back({one.id, std::move(one.peer), message.error()});
    }
  }
  return replies;
}

bool Proxy::is_answered(SessionId id) const {
  if (!core_->is_this_process()) return false;
  const Turn turn(core_->loop());
  return core_->sessions().is_finished(id);
}

std::optional<Session::State> Proxy::session_state(SessionId id) const {
  if (!core_->is_this_process()) return std::nullopt;
  const Turn turn(core_->loop());
  return core_->sessions().state(id);
}

bool Proxy::cancel(SessionId id) {
  if (!core_->is_this_process()) return false;
  const Turn turn(core_->loop());
  const bool was_open =
      core_->sessions().end(id, Error(Code::cancelled, "the session was cancelled"));
  core_->sessions_changed();
  return was_open;
}

}  // namespace muster::msg
