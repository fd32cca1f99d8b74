#include "muster/collectives/worker.h"

#include <utility>

namespace muster::collectives::internal {

Worker::Worker(Turnstile& turnstile) : turnstile_(turnstile), thread_([this] { work(); }) {}

Worker::~Worker() {
  is_stopping_ = true;
  look();
  thread_.join();
}

void Worker::give(Turnstile::Ticket ticket, std::function<void()> task) {
  inbox_.push({ticket, std::move(task)});
  look();
}

void Worker::look() {
  bell_.fetch_add(1, std::memory_order_seq_cst);
  bell_.notify_one();
}

void Worker::work() {
  for (;;) {
    const std::uint32_t heard = bell_.load(std::memory_order_seq_cst);
    inbox_.drain([this](Task& task) { waiting_.emplace(task.ticket, std::move(task.run)); });
    if (!waiting_.empty() && turnstile_.is_turn_of(waiting_.begin()->first)) {
      const std::function<void()> run = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      run();
      turnstile_.leave();
      continue;
    }
    if (is_stopping_ && waiting_.empty()) return;
    bell_.wait(heard, std::memory_order_seq_cst);
  }
}

}  // namespace muster::collectives::internal
