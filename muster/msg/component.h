// Component: a class of yours, a proxy, and what the one does when the other
// hears something. The class need not know of either.
//
//   struct Worker { int done = 0; };
//   Component<Worker> worker(proxy, {{"master:sum:1", on_sum}, {"stop", on_stop}});
//   worker.launch();
//   print(worker->done);
//
// A handler is anything that can be called with (T&, Proxy&, std::vector<Message>),
// a member function of T too. It may return nothing, a Status, a Value or a
// Result<Value>. A value is the reply to each task among the messages that has
// none yet; an error, or an exception, is told to who waits for one. Handlers
// run one at a time, in launch()'s thread, in the order of
// docs/reference/events.md; they may wait, send and stop() as they like. With
// ComponentOptions::pool they run side by side. A message that is to be handled at
// least once is done() when all handlers that get it have returned, or have failed
// and been reported.

#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/msg/component_options.h"
#include "muster/msg/event_condition.h"
#include "muster/msg/event_dispatcher.h"
#include "muster/msg/message.h"
#include "muster/msg/proxy.h"
#include "muster/msg/wait.h"
#include "muster/wire/value.h"

namespace muster::msg {

namespace internal {

inline HandlerAnswer to_answer(Status status) {
  if (!status) return std::move(status).error();
  return std::optional<wire::Value>();
}
inline HandlerAnswer to_answer(Result<wire::Value> value) {
  if (!value) return std::move(value).error();
  return std::optional(*std::move(value));
}
inline HandlerAnswer to_answer(HandlerAnswer answer) { return answer; }
inline HandlerAnswer to_answer(Error error) { return error; }
template <std::convertible_to<wire::Value> T>
HandlerAnswer to_answer(T value) {
  return std::optional<wire::Value>(std::move(value));
}

}  // namespace internal

template <class F, class T>
concept HandlerOf = std::invocable<F&, T&, Proxy&, std::vector<Message>> &&
                    (std::is_void_v<std::invoke_result_t<F&, T&, Proxy&, std::vector<Message>>> ||
                     requires(std::invoke_result_t<F&, T&, Proxy&, std::vector<Message>> returned) {
                       internal::to_answer(std::move(returned));
                     });

// What to wait for, and what to do then.
template <class T>
struct Handler {
  template <std::convertible_to<EventCondition> Condition, HandlerOf<T> F>
  Handler(const Condition& what, F function)
      : condition(what),
        call([function = std::move(function)](T& local, Proxy& proxy,
                                              std::vector<Message> messages) mutable {
          if constexpr (std::is_void_v<decltype(std::invoke(function, local, proxy, messages))>) {
            std::invoke(function, local, proxy, std::move(messages));
            return internal::to_answer(ok());
          } else {
            return internal::to_answer(std::invoke(function, local, proxy, std::move(messages)));
          }
        }) {}

  EventCondition condition;
  std::function<HandlerAnswer(T&, Proxy&, std::vector<Message>)> call;
};

// The proxy outlives it. All but stop() is for one thread at a time.
template <class T>
class Component {
 public:
  using Handlers = std::initializer_list<Handler<T>>;

  // `args` make the T. A wrong condition is launch()'s error.
  template <class... Args>
  explicit Component(Proxy& proxy, Handlers handlers = {}, Args&&... args)
      : Component(proxy, ComponentOptions(), handlers, std::forward<Args>(args)...) {}
  template <class... Args>
  Component(Proxy& proxy, ComponentOptions options, Handlers handlers, Args&&... args)
      : proxy_(proxy), local_(std::forward<Args>(args)...), dispatcher_(proxy, std::move(options)) {
    for (const Handler<T>& handler : handlers) on(handler);
  }
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;

  // The local instance, to read and to write.
  T& operator*() { return local_; }
  const T& operator*() const { return local_; }
  T* operator->() { return &local_; }
  const T* operator->() const { return &local_; }

  Proxy& proxy() const { return proxy_; }

  // As in the constructor: a wrong condition is launch()'s error.
  Component& on(Handler<T> handler) {
    const Result<EventId> added = add(std::move(handler));
    if (!added && !refused_) refused_ = added.error();
    return *this;
  }
  template <std::convertible_to<EventCondition> Condition, HandlerOf<T> F>
  Component& on(const Condition& condition, F function) {
    return on(Handler<T>(condition, std::move(function)));
  }

  // The same, for who wants the error at once, or to remove() the event later.
  Result<EventId> add(Handler<T> handler) {
    return dispatcher_.add(handler.condition,
                           [this, call = std::move(handler.call)](std::vector<Message> messages) {
                             return call(local_, proxy_, std::move(messages));
                           });
  }
  // Give back what waited for the event, or for any.
  Result<std::vector<Message>> remove(EventId event) { return dispatcher_.remove(event); }
  Result<std::vector<Message>> clear() { return dispatcher_.clear(); }

  // As EventDispatcher's.
  Status launch(const Wait& wait = {}) {
    if (refused_) return *refused_;
    return dispatcher_.launch(wait);
  }
  void stop() { dispatcher_.stop(); }
  bool is_stopped() const { return dispatcher_.is_stopped(); }
  bool is_partial() const { return dispatcher_.is_partial(); }

 private:
  Proxy& proxy_;
  T local_;
  EventDispatcher dispatcher_;
  std::optional<Error> refused_;
};

}  // namespace muster::msg
