#include "muster/msg/handler_pool.h"

#include <utility>

namespace muster::msg::internal {

using loop::Turn;

HandlerPool::HandlerPool(loop::Loop& loop, std::size_t threads) : loop_(loop), idle_(threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
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
