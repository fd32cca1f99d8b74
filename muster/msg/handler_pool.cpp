#include "muster/msg/handler_pool.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace muster::msg::internal {

using loop::Turn;

Result<std::unique_ptr<HandlerPool>> HandlerPool::make(loop::Loop& loop, std::size_t threads) {
  std::unique_ptr<HandlerPool> pool(new HandlerPool(loop));
  pool->threads_.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) {
      pool->threads_.emplace_back([made = pool.get()] { made->work(); });
    }
  } catch (const std::system_error& none) {
    return Error(Code::overloaded,
                 fmt::format("make {} threads for handlers: the {}. cannot be: {}", threads,
                             pool->threads_.size() + 1, none.what()));
  }
  pool->idle_ = threads;  // Nobody runs anything yet.
  return pool;
}

HandlerPool::~HandlerPool() {
  change([this] { is_ending_ = true; });
  for (std::thread& thread : threads_) thread.join();
}

// Not by a task, which could be run when the pool is no more.
void HandlerPool::change(const std::function<void()>& what) {
  {
    const Turn turn(loop_);
    what();
  }
  loop_.post([] {});  // Has all who wait look again.
}

Waited HandlerPool::wait_for_idle(const Wait& wait) {
  return wait_for(loop_, wait, [this] { return idle_ > 0; });
}

void HandlerPool::run(std::function<void()> job) {
  change([&] {
    --idle_;
    jobs_.push_back(std::move(job));
  });
}

void HandlerPool::work() {
  for (;;) {
    std::function<void()> job;
    loop_.wait_until([&] {
      if (job == nullptr && !jobs_.empty()) {
        job = std::move(jobs_.back());
        jobs_.pop_back();
      }
      return job != nullptr || is_ending_;
    });
    if (job == nullptr) return;
    job();
    job = nullptr;  // And what it holds, before anybody hears that it is done.
    change([this] { ++idle_; });
  }
}

}  // namespace muster::msg::internal
