// What waits: events, messages and who is there.

#include "muster/msg/event_dispatcher.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/handler_pool.h"

namespace muster::msg {

EventDispatcher::EventDispatcher(Proxy& proxy, ComponentOptions options)
    : proxy_(proxy), options_(std::move(options)), table_(options_.events) {}

EventDispatcher::~EventDispatcher() = default;

Status EventDispatcher::check_thread() const {
  if (!is_running_ || launcher_.load() == std::this_thread::get_id()) return ok();
  return Error(Code::invalid, "change the events: they are in use by another thread");
}

Result<EventId> EventDispatcher::add(const EventCondition& condition, EventHandler handler) {
  MUSTER_TRY_OK(check_thread());
  if (handler == nullptr) return Error(Code::invalid, "add an event: it has no handler");
  MUSTER_TRY(const EventId event, table_.add(condition));
  handlers_.emplace(event, std::make_shared<const EventHandler>(std::move(handler)));
  return event;
}

Result<std::vector<Message>> EventDispatcher::remove(EventId event) {
  MUSTER_TRY_OK(check_thread());
  MUSTER_TRY(const std::vector<EventTicket> waiting, table_.remove(event));
  handlers_.erase(event);
  std::vector<Message> messages;
  std::erase_if(due_, [&](const EventFiring& firing) {
    if (firing.event != event) return false;
    for (const EventTicket ticket : firing.tickets) messages.push_back(give_back(ticket));
    return true;
  });
  for (const EventTicket ticket : waiting) messages.push_back(give_back(ticket));
  return messages;
}

Result<std::vector<Message>> EventDispatcher::clear() {
  MUSTER_TRY_OK(check_thread());
  table_.clear();
  handlers_.clear();
  due_.clear();
  const std::map<EventTicket, Held> in_order(held_.begin(), held_.end());
  held_.clear();
  std::vector<Message> messages;
  messages.reserve(in_order.size());
  for (const auto& [ticket, held] : in_order) {
    const auto& [message, handling] = held.taken;
    messages.push_back(message);
    if (handling == nullptr) continue;
    const bool is_last = handling->left.fetch_sub(held.holders) == held.holders;
    if (is_last && handling->was_handled) static_cast<void>(proxy_.done(message));
  }
  return messages;
}

void EventDispatcher::take(const Message& message, TimePoint now) {
  const EventTicket ticket = ++last_ticket_;
  const std::string type = type_of(message.source());
  EventOutcome outcome = table_.push({message.source(), type, message.tag(), ticket}, now);
  if (outcome.holders > 0) {
    auto handling = message.is_kept() ? std::make_shared<Handling>(outcome.holders) : nullptr;
    held_.emplace(ticket, Held{{message, std::move(handling)}, outcome.holders});
  }
  const bool is_wanted = outcome.holders > 0;
  accept(std::move(outcome));
  if (!is_wanted) unhandled(message);
}

// Its own sight of the group, not the proxy's events: those are the user's to
// take, and the oldest of them give way.
void EventDispatcher::look_at_members(TimePoint now) {
  seen_ = proxy_.changes();  // First, so that what changes meanwhile is looked at again.
  std::set<std::string> members;
  // Who came counts before who went, lest a share of the peers look smaller
  // than it has ever been.
  for (const PeerInfo& info : proxy_.peers()) {
    members.insert(info.name);  // A broken link makes nobody less of one.
    if (info.presence != Presence::here || live_.contains(info.name)) continue;
    live_.emplace(info.name, info.type);
    accept(table_.joined(info.name, info.type, now));
  }
  std::erase_if(live_, [&](const auto& peer) {
    if (members.contains(peer.first)) return false;
    accept(table_.left(peer.first, now));
    return true;
  });
}

std::string EventDispatcher::type_of(std::string_view name) const {
  const auto found = live_.find(name);
  if (found != live_.end()) return found->second;
  // It has left meanwhile, or its link is younger than our last look.
  const std::optional<PeerInfo> peer = proxy_.peer(name);
  return peer ? peer->type : std::string();
}

void EventDispatcher::accept(EventOutcome outcome) {
  std::ranges::move(outcome.firings, std::back_inserter(due_));
  for (const EventDrop& drop : outcome.dropped) dropped(drop);
}

EventDispatcher::Taken EventDispatcher::release(EventTicket ticket) {
  const auto found = held_.find(ticket);
  Taken taken = found->second.taken;
  if (--found->second.holders == 0) held_.erase(found);
  return taken;
}

// To the user, who is to say that it is done; unless a handler has had it.
Message EventDispatcher::give_back(EventTicket ticket) {
  const auto [message, handling] = release(ticket);
  if (handling != nullptr && handling->left.fetch_sub(1) == 1 && handling->was_handled) {
    static_cast<void>(proxy_.done(message));
  }
  return message;
}

void EventDispatcher::dropped(const EventDrop& drop) {
  const auto [message, handling] = release(drop.ticket);
  Error why(Code::overloaded,
            fmt::format("keep '{}' of {} for an event: more wait than it may keep; raise "
                        "waiting_limit, or give the event a time bound",
                        message.tag(), message.source()));
  // Others may still have it, and answer it.
  const bool is_last = !held_.contains(drop.ticket);
  if (is_last && message.session_type() == SessionType::task && message.is_request() &&
      !message.is_answered()) {
    static_cast<void>(proxy_.fail_soon(message, why));
  }
  if (handling != nullptr && handling->left.fetch_sub(1) == 1) {
    // To have been handled by one is enough.
    static_cast<void>(handling->was_handled ? proxy_.done(message) : proxy_.refuse(message, why));
  }
  report({drop.event, std::move(why), {message}}, "message dropped");
}

void EventDispatcher::unhandled(const Message& message) {
  if (options_.unhandled) {
    options_.unhandled(message);
    static_cast<void>(proxy_.done(message));
    return;
  }
  const Error why(Code::unsupported, fmt::format("no event waits for '{}' of {}; see its on()",
                                                 message.tag(), message.source()));
  static_cast<void>(proxy_.refuse(message, why));
  if (message.session_type() != SessionType::task || !message.is_request()) return;
  static_cast<void>(proxy_.fail_soon(message, why));
}

}  // namespace muster::msg
