// Listeners: who wants to hear of one thing that happens, until they do not any more.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace muster::python {

// Any thread, under the baton too.
class Listeners {
 public:
  // By a token that nobody else has. True: tell() is to be called once it has happened, and
  // nobody has been told so before.
  bool enter(std::uint64_t token, std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    actions_[token] = std::move(action);
    return !std::exchange(is_awaited_, true);
  }
  void forget(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    actions_.erase(token);
  }
  std::vector<std::uint64_t> tokens() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> all;
    for (const auto& [token, action] : actions_) all.push_back(token);
    return all;
  }
  void tell() {
    std::map<std::uint64_t, std::function<void()>> due;
    {
      const std::lock_guard lock(mutex_);
      is_awaited_ = false;
      due.swap(actions_);
    }
    for (const auto& [token, action] : due) action();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::function<void()>> actions_;
  bool is_awaited_ = false;
};

}  // namespace muster::python
