// What happens: receiving, and the calls of handlers.

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/msg/event_dispatcher.h"
#include "muster/msg/handler_pool.h"
#include "muster/msg/proxy_wait.h"

namespace muster::msg {
namespace {

bool is_open_task(const Message& message) {
  return message.is_request() && message.session_type() == SessionType::task &&
         !message.is_answered();
}

// Whether the handler that runs in this thread was called because of the time.
thread_local bool is_partial_call = false;

class Flag {
 public:
  explicit Flag(std::atomic<bool>& flag) : flag_(flag) {}
  ~Flag() { flag_ = false; }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

bool EventDispatcher::is_partial() const { return is_partial_call; }

Status EventDispatcher::launch(const Wait& wait) {
  if (is_running_.exchange(true)) {
    return Error(Code::invalid, "launch: it runs already; a handler need only return");
  }
  const Flag running(is_running_);
  launcher_ = std::this_thread::get_id();
  launch_stop_ = std::stop_source();
  const auto end = [this] { launch_stop_.request_stop(); };
  const std::stop_callback by_stop(stop_.get_token(), end);
  const std::stop_callback by_caller(wait.stop(), end);
  const TimePoint deadline = wait.deadline_from([this] { return proxy_.loop().now(); });
  if (options_.pool > 0) {
    MUSTER_TRY(pool_, internal::HandlerPool::make(proxy_.loop(), options_.pool));
  }
  Status ended = run(Wait(deadline, launch_stop_.get_token()).asking(wait.check()), deadline);
  pool_.reset();  // What runs in it may still fail.
  if (std::optional<Error> error = std::exchange(pool_error_, std::nullopt)) {
    return *std::move(error);
  }
  if (!ended && ended.error().code() == Code::cancelled && is_stopped()) return ok();
  return ended;
}

Status EventDispatcher::run(const Wait& wait, TimePoint deadline) {
  TimePoint asked = proxy_.loop().now();
  for (;;) {
    MUSTER_TRY_OK(handle_due(wait));
    MUSTER_TRY_OK(step(wait, deadline));
    // Where messages come without a pause no single wait lasts long enough to ask.
    if (wait.check() == nullptr) continue;
    const TimePoint now = proxy_.loop().now();
    if (now - asked < Wait::kCheckEvery) continue;
    if (wait.check()()) return internal::why_not(internal::Waited::cancelled, "launch");
    asked = now;
  }
}

// One message, or a change of members, or time that has passed.
Status EventDispatcher::step(const Wait& wait, TimePoint deadline) {
  const Wait until =
      Wait(std::min(deadline, table_.next_deadline()), wait.stop()).asking(wait.check());
  MUSTER_TRY(const std::optional<Message> message, proxy_.receive_next(seen_, until));
  const TimePoint now = proxy_.loop().now();
  if (message) {
    take(*message, now);
  } else if (proxy_.changes() != seen_) {
    look_at_members(now);
    return ok();
  } else {
    accept(table_.advance(now));
  }
  if (now < deadline) return ok();
  MUSTER_TRY_OK(handle_due(wait));
  return internal::why_not(internal::Waited::timeout, "launch");
}

Status EventDispatcher::handle_due(const Wait& wait) {
  while (!due_.empty()) {
    if (wait.stop().stop_requested()) break;
    if (pool_ != nullptr) {
      const internal::Waited waited = pool_->wait_for_idle(wait);
      if (waited != internal::Waited::done) return internal::why_not(waited, "launch");
    }
    const EventFiring firing = std::move(due_.front());
    due_.pop_front();
    MUSTER_TRY_OK(handle(firing, wait));
  }
  if (!wait.stop().stop_requested()) return ok();
  return internal::why_not(internal::Waited::cancelled, "launch");
}

Status EventDispatcher::handle(const EventFiring& firing, const Wait& wait) {
  std::vector<Taken> taken;
  taken.reserve(firing.tickets.size());
  for (const EventTicket ticket : firing.tickets) taken.push_back(release(ticket));
  std::shared_ptr<const EventHandler> handler = handlers_.at(firing.event);
  if (pool_ == nullptr) return finish(*handler, firing, taken, wait);
  pool_->run([this, handler = std::move(handler), firing, taken = std::move(taken), wait] {
    Status done = finish(*handler, firing, taken, wait);
    if (done) return;
    {
      const loop::Turn turn(proxy_.loop());
      if (!pool_error_) pool_error_ = std::move(done).error();
    }
    launch_stop_.request_stop();
  });
  return ok();
}

Status EventDispatcher::finish(const EventHandler& handler, const EventFiring& firing,
                               const std::vector<Taken>& taken, const Wait& wait) {
  std::vector<Message> messages;
  messages.reserve(taken.size());
  for (const Taken& one : taken) messages.push_back(one.message);
  HandlerAnswer answer = call(handler, firing, messages);
  Status finished = ok();
  if (!answer) {
    finished = failed({firing.event, std::move(answer).error(), messages}, wait);
  } else if (*answer) {
    finished = reply(firing.event, messages, **answer, wait);
  }
  done(firing.event, taken);
  return finished;
}

// The handler has returned, or thrown and been reported: what no other waits for
// is not needed again.
void EventDispatcher::done(EventId event, const std::vector<Taken>& taken) {
  std::vector<Message> handled;
  for (const auto& [message, handling] : taken) {
    if (handling == nullptr) continue;
    handling->was_handled = true;
    if (handling->left.fetch_sub(1) == 1) handled.push_back(message);
  }
  if (handled.empty()) return;
  // What could not be committed comes again.
  const Status said = proxy_.done(handled);
  if (!said) report({event, said.error(), handled}, "commit failed");
}

HandlerAnswer EventDispatcher::call(const EventHandler& handler, const EventFiring& firing,
                                    const std::vector<Message>& messages) {
  const TimePoint begin = options_.measure ? proxy_.loop().now() : TimePoint();
  const bool was_partial = std::exchange(is_partial_call, firing.is_partial);
  HandlerAnswer answer = std::optional<wire::Value>();
  try {
    answer = handler(messages);
  } catch (const std::exception& thrown) {
    answer = Error(Code::failed, thrown.what());
  } catch (...) {
    answer = Error(Code::failed, "the handler threw something that is no std::exception");
  }
  is_partial_call = was_partial;
  if (options_.measure) {
    options_.measure({.event = firing.event,
                      .messages = messages.size(),
                      .duration = proxy_.loop().now() - begin,
                      .is_partial = firing.is_partial,
                      .has_failed = !answer,
                      .answer = &answer});
  }
  return answer;
}

Status EventDispatcher::reply(EventId event, const std::vector<Message>& messages,
                              const wire::Value& value, const Wait& wait) {
  for (const Message& message : messages) {
    if (!is_open_task(message)) continue;
    Status sent = proxy_.reply(message, value, {}, wait);
    if (!sent) MUSTER_TRY_OK(failed({event, std::move(sent).error(), {message}}, wait));
  }
  return ok();
}

Status EventDispatcher::failed(HandlerFailure failure, const Wait& wait) {
  for (const Message& message : failure.messages) {
    // Who cannot be told is gone; its own sessions end by that.
    if (is_open_task(message)) static_cast<void>(proxy_.fail(message, failure.error, wait));
  }
  report(failure, "handler failed");
  if (options_.policy == ErrorPolicy::go_on) return ok();
  return std::move(failure.error);
}

// Many may fail for one reason, hence no line for each.
void EventDispatcher::report(const HandlerFailure& failure, std::string_view what) {
  if (options_.report) return options_.report(failure);
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(proxy_.loop().now().time_since_epoch());
  const int held_back = [&] {
    const loop::Turn turn(proxy_.loop());
    return warnings_.admit(now.count());
  }();
  if (held_back < 0) return;
  log::warning(fmt::format("{}  component {}  error {}  others {}", what, proxy_.name(),
                           failure.error.describe(), held_back));
}

}  // namespace muster::msg
