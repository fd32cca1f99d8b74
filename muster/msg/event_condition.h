// EventCondition: which messages an event waits for. A value.
//
//   EventCondition("worker:update:60%")
//   all_of("worker_01:update:2", "worker_02:update:3")
//   any_of(all_of("worker_01:update:2", "worker_02:update:3"), "worker_03:update:1")
//   EventCondition("worker:rollout:100%").distinct().within(30s)
//
// The grammar of the texts and what each part means: docs/reference/events.md.
// A wrong text makes a condition that carries its error, so that builders read
// well; EventTable::add() refuses it with that error.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"

namespace muster::msg {

// How deep groups may nest, how many units a condition may have, how long a
// text may be, in bytes. Sources and tags are as names and tags are: at most
// net::kMaxName and kMaxTag bytes.
inline constexpr std::size_t kMaxEventDepth = 64;
inline constexpr std::size_t kMaxEventUnits = 256;
inline constexpr std::size_t kMaxEventText = std::size_t{256} << 10;
inline constexpr std::uint32_t kMaxEventAmount = 1'000'000'000;
inline constexpr std::chrono::hours kMaxEventBound{24 * 365};

// How many messages: 1 to kMaxEventAmount, or 1 to 100 percent of the live
// peers that match the source.
struct EventAmount {
  std::uint32_t number = 1;
  bool is_percentage = false;

  bool operator==(const EventAmount&) const = default;
};

// `source:tag:amount`.
struct EventUnit {
  std::string source = "*";  // "*", a type or name, or the beginning of names: "worker_*".
  std::string tag;           // "*" is any.
  EventAmount amount;
  bool is_distinct = false;  // Senders count, not messages.

  // As EventCondition reads it, in quotes where they are needed.
  std::string to_string() const;

  bool operator==(const EventUnit&) const = default;
};

class EventCondition {
 public:
  enum class Kind : std::uint8_t { unit, all, any };

  template <std::convertible_to<std::string_view> Text>
  EventCondition(const Text& text) : EventCondition(read(text)) {}
  EventCondition(const EventUnit& unit);

  // All or any of `parts`, of which there is at least one.
  static EventCondition group(Kind kind, std::vector<EventCondition> parts);

  // One that cannot be, and why; for builders of conditions.
  static EventCondition refused(Error error);

  // The same, but senders are counted instead of messages. For a unit.
  EventCondition distinct() const;
  // The same, but no message waits longer than `bound`: then the event fires
  // with what is there. For a whole event, not for a part of one.
  EventCondition within(Duration bound) const;

  // What is wrong with it: Code::invalid and where; null if nothing is.
  const Error* error() const { return error_ ? &*error_ : nullptr; }

  Kind kind() const { return kind_; }
  const EventUnit& unit() const { return unit_; }  // Of Kind::unit.
  const std::vector<EventCondition>& parts() const { return parts_; }
  std::optional<Duration> bound() const { return bound_; }
  std::size_t depth() const { return depth_; }  // 0 for a unit.
  std::size_t unit_count() const { return unit_count_; }

  // A text that makes an equal condition; of one without error.
  std::string to_string() const;

  bool operator==(const EventCondition&) const = default;

 private:
  friend class EventParser;
  EventCondition() = default;
  static EventCondition read(std::string_view text);
  // group() of parts that are right, within the limits or not.
  static EventCondition assemble(Kind kind, std::vector<EventCondition> parts);
  std::string to_text() const;  // Without the bound.

  Kind kind_ = Kind::unit;
  EventUnit unit_;
  std::vector<EventCondition> parts_;
  std::optional<Duration> bound_;
  std::optional<Error> error_;
  std::size_t depth_ = 0;
  std::size_t unit_count_ = 1;
};

// One condition from its text.
inline EventCondition event(std::string_view text) { return text; }

inline EventCondition all_of(std::vector<EventCondition> parts) {
  return EventCondition::group(EventCondition::Kind::all, std::move(parts));
}
inline EventCondition any_of(std::vector<EventCondition> parts) {
  return EventCondition::group(EventCondition::Kind::any, std::move(parts));
}

// Of texts, units and conditions, in any mix.
template <std::convertible_to<EventCondition>... Parts>
EventCondition all_of(const Parts&... parts) {
  return all_of(std::vector<EventCondition>{EventCondition(parts)...});
}
template <std::convertible_to<EventCondition>... Parts>
EventCondition any_of(const Parts&... parts) {
  return any_of(std::vector<EventCondition>{EventCondition(parts)...});
}

}  // namespace muster::msg
