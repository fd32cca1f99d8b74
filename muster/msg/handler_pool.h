// HandlerPool: threads that run handlers side by side. They wait in the loop, as
// all who wait do.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/msg/proxy_wait.h"
#include "muster/msg/wait.h"

namespace muster::msg::internal {

class HandlerPool {
 public:
  // Code::overloaded if the system has no thread to give.
  static Result<std::unique_ptr<HandlerPool>> make(loop::Loop& loop, std::size_t threads);
  // Waits for what runs.
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // Until a thread has nothing to do.
  Waited wait_for_idle(const Wait& wait);
  // Runs `job` at once; one is idle, as the caller has made sure.
  void run(std::function<void()> job);

 private:
  explicit HandlerPool(loop::Loop& loop) : loop_(loop) {}
  void change(const std::function<void()>& what);
  void work();

  loop::Loop& loop_;
  // Under the baton.
  std::size_t idle_ = 0;
  std::vector<std::function<void()>> jobs_;  // Each has an idle thread that will take it.
  bool is_ending_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace muster::msg::internal
