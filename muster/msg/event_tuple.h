// Conditions as tuples, the operator last, any depth:
//
//   event(std::tuple("worker_01:update:2", "worker_02:update:3", "AND"))
//   event(std::tuple(std::tuple("worker_01:update:2", "worker_02:update:3", "AND"),
//                    "worker_03:update:1", "OR"))

#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "muster/msg/event_condition.h"

namespace muster::msg {

// `parts` joined by "AND", "and", "&&", "OR", "or" or "||"; any other word makes
// a condition that is refused.
EventCondition join_event(std::vector<EventCondition> parts, std::string_view word);

template <class... Items>
EventCondition event(const std::tuple<Items...>& items);

namespace internal {

template <class T>
inline constexpr bool kIsTuple = false;
template <class... Items>
inline constexpr bool kIsTuple<std::tuple<Items...>> = true;

template <class Item>
EventCondition event_part(const Item& item) {
  if constexpr (kIsTuple<Item>) {
    return event(item);
  } else {
    return EventCondition(item);
  }
}

template <class Tuple, std::size_t... I>
EventCondition event_of(const Tuple& items, std::index_sequence<I...>) {
  return join_event(std::vector<EventCondition>{event_part(std::get<I>(items))...},
                    std::get<sizeof...(I)>(items));
}

}  // namespace internal

// Items are texts, units, conditions and tuples; the last is the operator.
template <class... Items>
EventCondition event(const std::tuple<Items...>& items) {
  static_assert(sizeof...(Items) > 0, "a tuple ends with its operator");
  return internal::event_of(items, std::make_index_sequence<sizeof...(Items) - 1>());
}

}  // namespace muster::msg
