// Future: a result that is not there yet.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "muster/base/result.h"
#include "muster/loop/loop.h"

namespace muster::loop {

template <class T>
class Promise;

template <class T>
class Future {
 public:
  Future() = default;
  // One that has failed before anybody could promise anything. Touches no loop.
  static Future failed(Error why) {
    Future made;
    made.failure_ = std::make_shared<const Error>(std::move(why));
    return made;
  }

  // Any thread, not under the baton. Waits for the result and takes it;
  // Code::timeout if the deadline comes first, Code::cancelled if `stop` is
  // requested first. Then the future stays usable, and what it stands for goes on.
  Result<T> get(TimePoint deadline = kForever, const std::stop_token& stop = {}) {
    if (!state_) return take_failure();
    Loop& loop = *state_->loop;
    // A task that does nothing has all who wait look again.
    const std::stop_callback wake(stop, [&loop] { loop.post([] {}); });
    loop.wait_until([&] { return state_->result.has_value() || stop.stop_requested(); }, deadline);
    const Turn turn(loop);
    if (state_->result) return *std::move(std::exchange(state_, nullptr)->result);
    if (stop.stop_requested()) return Error(Code::cancelled, "the caller asked to stop");
    return Error(Code::timeout, "the deadline passed before the result was there");
  }
  Result<T> get(const std::stop_token& stop) { return get(kForever, stop); }

  // Calls `action` under the baton once the result is there, at once if it
  // is. Takes the future's place: get() has nothing to give any more. One that has
  // nothing itself calls it at once with the error that get() has, without the baton.
  void then(std::function<void(Result<T>)> action) {
    if (!state_) return action(take_failure());
    const std::shared_ptr<State> state = std::move(state_);
    const Turn turn(*state->loop);
    if (state->result) return action(*std::move(state->result));
    state->action = std::move(action);
  }

  // Any thread. False if get() has nothing to give.
  bool is_ready() const {
    if (!state_) return failure_ != nullptr;
    const Turn turn(*state_->loop);
    return state_->result.has_value();
  }
  explicit operator bool() const { return state_ != nullptr || failure_ != nullptr; }

 private:
  friend class Promise<T>;
  struct State {
    Loop* loop;
    std::optional<Result<T>> result;
    std::function<void(Result<T>)> action;
  };
  Error take_failure() {
    if (const auto failure = std::move(failure_)) return *failure;
    return {Code::invalid, "this future has no promise, or was taken from"};
  }
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
  std::shared_ptr<const Error> failure_;
};

// The end that sets the result, once. One that goes without having done so
// leaves Code::cancelled.
template <class T>
class Promise {
 public:
  explicit Promise(Loop& loop)
      : state_(std::make_shared<typename Future<T>::State>(
            typename Future<T>::State{&loop, std::nullopt, nullptr})) {}
  Promise(Promise&&) noexcept = default;
  // What was promised before is dropped.
  Promise& operator=(Promise&& other) noexcept {
    Promise dropped = std::move(other);
    std::swap(state_, dropped.state_);
    return *this;
  }
  ~Promise() {
    if (state_) set(Error(Code::cancelled, "the promise was dropped"));
  }

  Future<T> future() const { return Future<T>(state_); }

  // Needs no baton of the caller's; what follows runs under it.
  void set(Result<T> result) {
    const auto state = std::move(state_);
    const Turn turn(*state->loop);
    if (state->action) return state->action(std::move(result));
    state->result = std::move(result);
  }

 private:
  std::shared_ptr<typename Future<T>::State> state_;
};

}  // namespace muster::loop
