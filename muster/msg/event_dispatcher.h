// EventDispatcher: receives a proxy's messages and calls who waits for them.
// What Component is made of, but for the class that it wraps.
//
// All but stop() is for one thread at a time: while it runs, the one that is in
// launch(), and so the handlers. These run one after the other, none inside
// another, unless there is a pool: its handlers may call stop() and is_partial()
// alone.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "muster/base/log.h"
#include "muster/base/result.h"
#include "muster/msg/component_options.h"
#include "muster/msg/event_condition.h"
#include "muster/msg/event_table.h"
#include "muster/msg/proxy.h"
#include "muster/msg/wait.h"

namespace muster::msg {

namespace internal {
class HandlerPool;
}

class EventDispatcher {
 public:
  // The proxy outlives it.
  explicit EventDispatcher(Proxy& proxy, ComponentOptions options = {});
  ~EventDispatcher();
  EventDispatcher(const EventDispatcher&) = delete;
  EventDispatcher& operator=(const EventDispatcher&) = delete;

  // Code::invalid, with where and why, for a condition that cannot be; and, as
  // remove(), if it runs in another thread.
  Result<EventId> add(const EventCondition& condition, EventHandler handler);
  // Gives back the messages that waited for the event; what is_kept() among them
  // and was never handled is the caller's to be done() with. Code::not_found.
  Result<std::vector<Message>> remove(EventId event);
  // Removes all events, and gives back each message once, as remove() does.
  Result<std::vector<Message>> clear();

  // Works until stop(), which is no error. Code::timeout and Code::cancelled as
  // `wait` says; else why the proxy is over, or the error of a handler if the
  // policy is to stop. Code::invalid if it runs already; Code::overloaded if the
  // system has no threads for the pool.
  Status launch(const Wait& wait = {});

  // Any thread, handlers too. No handler is begun any more, now and for good.
  void stop() { stop_.request_stop(); }
  bool is_stopped() const { return stop_.stop_requested(); }

  // Inside a handler: whether its event's time bound had passed.
  bool is_partial() const;

 private:
  // Of a message that its sender keeps until all handlers have returned that get it.
  struct Handling {
    std::atomic<std::size_t> left;  // Events that have it, and handlers that run.
    std::atomic<bool> was_handled{false};
  };
  struct Taken {
    Message message;
    std::shared_ptr<Handling> handling;  // Null if nobody keeps it.
  };
  struct Held {
    Taken taken;
    std::size_t holders = 0;  // Events that have it, due ones included.
  };

  Status check_thread() const;
  Status run(const Wait& wait, TimePoint deadline);
  Status step(const Wait& wait, TimePoint deadline);
  void take(const Message& message, TimePoint now);
  void look_at_members(TimePoint now);
  std::string type_of(std::string_view name) const;

  void accept(EventOutcome outcome);
  Taken release(EventTicket ticket);
  Message give_back(EventTicket ticket);
  void dropped(const EventDrop& drop);
  void unhandled(const Message& message);

  Status handle_due(const Wait& wait);
  Status handle(const EventFiring& firing, const Wait& wait);
  Status finish(const EventHandler& handler, const EventFiring& firing,
                const std::vector<Taken>& taken, const Wait& wait);
  void done(EventId event, const std::vector<Taken>& taken);
  HandlerAnswer call(const EventHandler& handler, const EventFiring& firing,
                     const std::vector<Message>& messages);
  Status reply(EventId event, const std::vector<Message>& messages, const wire::Value& value,
               const Wait& wait);
  Status failed(HandlerFailure failure, const Wait& wait);
  void report(const HandlerFailure& failure, std::string_view what);

  Proxy& proxy_;
  const ComponentOptions options_;
  EventTable table_;
  // Shared, so that a handler may remove itself.
  std::unordered_map<EventId, std::shared_ptr<const EventHandler>> handlers_;
  std::unordered_map<EventTicket, Held> held_;
  std::deque<EventFiring> due_;
  EventTicket last_ticket_ = 0;
  std::map<std::string, std::string, std::less<>> live_;  // Types by name, as told to the table.
  std::uint64_t seen_ = UINT64_MAX;                       // Of the proxy's changes.
  std::stop_source stop_;
  std::stop_source launch_stop_;  // Of the launch that runs.
  std::atomic<bool> is_running_{false};
  std::atomic<std::thread::id> launcher_{};
  std::unique_ptr<internal::HandlerPool> pool_;  // While it runs, if there is one.
  std::optional<Error> pool_error_;              // Under the baton.
  log::RateLimit warnings_;                      // The same.
};

}  // namespace muster::msg
