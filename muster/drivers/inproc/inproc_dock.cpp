#include "muster/drivers/inproc/inproc_dock.h"

#include <utility>

#include <sys/eventfd.h>

namespace muster::drivers::internal {

bool InprocDock::push(std::function<void()> task) {
  // Held while ringing too: after close() the loop may be gone.
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  tasks_.push_back(std::move(task));
  has_tasks_.store(true, std::memory_order_seq_cst);
  // Either this sees that the loop is about to sleep, or arm() sees the task.
  if (is_armed_.load(std::memory_order_seq_cst)) eventfd_write(loop_.wake_descriptor(), 1);
  return true;
}

bool InprocDock::arm() {
  is_armed_.store(true, std::memory_order_seq_cst);
  return has_tasks_.load(std::memory_order_seq_cst);
}

void InprocDock::disarm() { is_armed_.store(false, std::memory_order_relaxed); }

bool InprocDock::poll() {
  if (!has_tasks_.load(std::memory_order_acquire)) return false;
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
    has_tasks_.store(false, std::memory_order_relaxed);
  }
  const Delivery delivery(*this);
  for (const auto& task : tasks) task();
  return true;
}

void InprocDock::close() {
  const loop::Turn turn(loop_);
  loop_.remove(*this);
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  poll();
}

void InprocDock::schedule(loop::Flusher& flusher) {
  if (deliveries_ > 0) {
    loop_.flush_soon(flusher);
  } else {
    loop_.flush_later(flusher);
  }
}

}  // namespace muster::drivers::internal
