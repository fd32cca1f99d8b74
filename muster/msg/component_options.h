// What can be said about a component, and what it tells of its handlers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/msg/event_table.h"
#include "muster/msg/message.h"
#include "muster/wire/value.h"

namespace muster::msg {

// What a handler leaves: the reply to each task among its messages that it has
// not answered itself; none, and they stay open; or why it failed.
using HandlerAnswer = Result<std::optional<wire::Value>>;
using EventHandler = std::function<HandlerAnswer(std::vector<Message>)>;

// What went wrong with an event, and the messages that suffered from it.
struct HandlerFailure {
  EventId event = 0;
  Error error;
  std::vector<Message> messages;  // All that the handler got, or what could not be kept.
};

// One call of a handler, for who measures, or gathers what handlers return.
struct HandlerRun {
  EventId event = 0;
  std::size_t messages = 0;
  Duration duration = {};
  bool is_partial = false;  // The event's time bound had passed.
  bool has_failed = false;
  // What it returned, or why it failed. There while the call lasts.
  const HandlerAnswer* answer = nullptr;
};

enum class ErrorPolicy : std::uint8_t {
  go_on,
  stop,  // launch() returns the error; it may be called again.
};

// All are called by the thread that is in launch(), or those of the pool, and
// must not throw.
struct ComponentOptions {
  // How many threads of its own run handlers side by side while it is launched;
  // the class that they share is then theirs to guard, and replies may overtake
  // each other. 0: launch()'s thread runs them, one at a time.
  std::size_t pool = 0;
  ErrorPolicy policy = ErrorPolicy::go_on;
  // A handler threw or returned an error, a reply could not be sent
  // (Code::unavailable, Code::overloaded), a DedupStore could not commit, or more messages waited
  // for an event than it keeps (Code::overloaded). Tasks without an answer have been told before.
  // Null: it is logged, at most a line a second.
  std::function<void(const HandlerFailure&)> report = nullptr;
  // A message that no event waits for; it is its business to answer it. Null:
  // tasks fail with Code::unsupported, all else is dropped, which senders hear of
  // who want it to be handled at least once.
  std::function<void(const Message&)> unhandled = nullptr;
  std::function<void(const HandlerRun&)> measure = nullptr;
  EventOptions events = {};
};

}  // namespace muster::msg
