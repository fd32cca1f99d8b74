// A proxy's receiving calls, and what answers a message.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"
#include "muster/msg/share.h"

namespace muster::msg {

using internal::ProxyCore;
using internal::Waited;
using loop::Turn;

Result<Message> Proxy::to_message(Result<IncomingPtr>& outcome) const {
  if (!outcome) return std::move(outcome).error();
  const bool is_failure = (*outcome)->head.is_failure;
  Result<Message> message = core_->make_message(*outcome);
  if (is_failure && message) return message->failure();
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

namespace {

// receive_once() as a thing that is tried again until it is done.
struct Receiving {
  ProxyCore& core;
  std::optional<std::uint64_t> seen;  // Of changes: another ends it.
  IncomingPtr taken = {};
  std::optional<Error> end = std::nullopt;

  bool step() {
    if (taken || end) return true;
    if (seen && *seen != core.changes()) return true;
    if (core.has_waiting()) {
      taken = core.take_waiting();
    } else if (core.end()) {
      end = core.end();
    }
    return taken || end;
  }
};

}  // namespace

Result<std::optional<Message>> Proxy::receive_next(std::optional<std::uint64_t> seen,
                                                   const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  loop::Loop& loop = core_->loop();
  const TimePoint deadline = wait.deadline_from([&] { return loop.now(); });
  for (;;) {
    Receiving receiving{*core_, seen};
    const internal::OnThrow put_back([&] {
      const Turn turn(loop);
      if (receiving.taken) core_->put_back(std::move(receiving.taken));
    });
    const Waited waited = attend(wait, deadline, [&receiving] { return receiving.step(); });
    forget_handled();
    if (receiving.end) return *std::move(receiving.end);
    if (waited == Waited::cancelled) return internal::why_not(waited, "receive");
    if (!receiving.taken) return std::optional<Message>();
    Result<Message> message = core_->make_message(receiving.taken);
    if (message) return std::optional<Message>(*std::move(message));
    const Turn turn(loop);
    core_->refuse(*receiving.taken, message.error());
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
  incoming.head.tag = MessageMaker::head(message).tag;
  incoming.peer = message.peer();
  incoming.names = MessageMaker::names(message);
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

namespace {

// When collect() has enough.
struct Collecting {
  SessionWatch watch = {};
  std::size_t need = 0;  // 0: all.

  bool is_over() const { return watch.left == 0 || (need != 0 && watch.answered >= need); }
};

std::size_t need_of(const Enough& enough, std::size_t count) {
  std::size_t need = enough.count;
  if (enough.fraction > 0) need = std::max(need, share_of(enough.fraction, count));
  return need >= count ? 0 : need;
}

}  // namespace

Result<Replies> Proxy::collect(const std::vector<SessionId>& ids, const Enough& enough,
                               const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  loop::Loop& loop = core_->loop();
  const TimePoint deadline = wait.deadline_from([&] { return loop.now(); });
  Collecting collecting{.need = need_of(enough, ids.size())};
  {
    const Turn turn(loop);
    MUSTER_TRY_OK(core_->sessions().watch(ids, collecting.watch));
  }
  const internal::OnThrow unwatch([&] {
    const Turn turn(loop);
    core_->sessions().unwatch(ids);
  });
  Waited waited = attend(wait, deadline, [&collecting] { return collecting.is_over(); });
  if (waited == Waited::done && collecting.need != 0) {
    const TimePoint patience = std::min(deadline, loop.now() + enough.grace);
    waited = attend(wait, patience, [&collecting] { return collecting.watch.left == 0; });
  }
  if (waited == Waited::cancelled) {
    const Turn turn(loop);
    core_->sessions().unwatch(ids);
    return internal::why_not(waited, fmt::format("wait for {} answers", ids.size()));
  }
  return take_replies(ids, enough.cancels_rest);
}

Result<Replies> Proxy::take_replies(const std::vector<SessionId>& ids, bool cancels_rest) {
  Replies replies;
  replies.messages.reserve(ids.size());
  {
    const Turn turn(core_->loop());
    for (const SessionId id : ids) take_reply(id, cancels_rest, replies);
  }
  // Bodies are looked into without the baton. What then fails leaves the messages.
  std::size_t count = 0;
  for (Message& message : replies.messages) {
    Status opened = core_->open(message);
    if (opened && message.is_failure()) opened = message.failure();
    if (opened) {
      std::swap(replies.messages[count++], message);
    } else {
      replies.failures.push_back(
          {message.session_id(), std::string(message.source()), std::move(opened).error()});
    }
  }
  replies.messages.resize(count);
  return replies;
}

// Under the baton.
void Proxy::take_reply(SessionId id, bool cancels_rest, Replies& replies) {
  SessionTable& sessions = core_->sessions();
  const PeerId peer = sessions.peer_of(id);
  std::optional<SessionTable::Outcome> outcome;
  if (!sessions.take_outcome(id, outcome)) {
    sessions.unwatch(id);
    replies.missing.push_back(id);
    if (cancels_rest) sessions.forget(id);
  } else if (*outcome) {
    replies.messages.push_back(MessageMaker::close(**std::move(outcome)));
  } else {
    const PeerRecord* record = core_->peers().find(peer);
    replies.failures.push_back(
        {id, record != nullptr ? record->member.name : "", std::move(*outcome).error()});
  }
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
