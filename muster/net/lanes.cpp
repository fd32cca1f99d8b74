#include "muster/net/lanes.h"

#include <utility>

#include "muster/base/check.h"

namespace muster::net {
namespace {

// Queues that are empty but kept, so that a channel that comes and goes costs
// no allocation.
constexpr std::size_t kKeptQueues = 16;

}  // namespace

QueuedPool::~QueuedPool() {
  while (free_ != nullptr) {
    const std::unique_ptr<Queued> queued(free_);
    free_ = queued->next;
  }
}

Queued* QueuedPool::take() {
  if (free_ == nullptr) return std::make_unique<Queued>().release();
  --idle_;
  Queued* const queued = free_;
  free_ = std::exchange(queued->next, nullptr);
  return queued;
}

void QueuedPool::give_back(Queued* queued) {
  std::unique_ptr<Queued> mine(queued);
  if (idle_ == limit_) return;
  mine->frame.parts.clear();
  mine->transfer.reset();
  mine->next = free_;
  free_ = mine.release();
  ++idle_;
}

Lanes::~Lanes() {
  for (auto& [key, queue] : queues_) {
    while (queue.head != nullptr) {
      pool_.give_back(std::exchange(queue.head, queue.head->next));
    }
  }
}

void Lanes::Ring::push(Queue& queue) {
  queue.next = nullptr;
  (head == nullptr ? head : tail->next) = &queue;
  tail = &queue;
}

void Lanes::Ring::pop() { head = head->next; }

Lanes::Queue& Lanes::queue_of(Lane lane) {
  const std::uint64_t key = key_of(lane);
  if (last_ != nullptr && last_->key == key) return *last_;
  last_ = &queues_[key];
  last_->key = key;
  return *last_;
}

Lanes::Ring& Lanes::ring_of(const Queued& queued, State state) {
  Priority& priority = priorities_[queued.lane.priority];
  return state == State::ready ? priority.ready : priority.granted;
}

void Lanes::push(wire::Frame& frame, Lane lane) {
  Queued* const queued = pool_.take();
  queued->size = size_of(frame);
  queued->frame.head = frame.head;
  queued->frame.parts = std::move(frame.parts);
  queued->lane = lane;
  ++count_;
  bytes_[is_large(queued->size) ? 1 : 0] += queued->size;

  Queue& queue = queue_of(lane);
  (queue.head == nullptr ? queue.head : queue.tail->next) = queued;
  queue.tail = queued;
  if (queue.state != State::idle) return;
  queue.state = State::ready;
  ring_of(*queued, State::ready).push(queue);
}

Queued* Lanes::next(bool messages, bool chunks) {
  for (Priority& priority : priorities_) {
    const bool has_ready = messages && priority.ready.head != nullptr;
    const bool has_granted = chunks && priority.granted.head != nullptr;
    if (!has_ready && !has_granted) continue;
    const bool is_granted = has_granted && (!has_ready || priority.is_granted_next);
    return (is_granted ? priority.granted : priority.ready).head->head;
  }
  return nullptr;
}

void Lanes::pop(Queued* queued) {
  Queue& queue = queue_of(queued->lane);
  ring_of(*queued, queue.state).pop();
  priorities_[queued->lane.priority].is_granted_next = queue.state == State::ready;
  remove_head(queue, queued->lane);
  pool_.give_back(queued);
}

void Lanes::wait(Queued* queued) {
  Queue& queue = queue_of(queued->lane);
  ring_of(*queued, queue.state).pop();
  if (queue.state == State::granted) priorities_[queued->lane.priority].is_granted_next = false;
  queue.state = State::waiting;
}

void Lanes::yield(Queued* queued) {
  Queue& queue = queue_of(queued->lane);
  Ring& ring = ring_of(*queued, State::granted);
  ring.pop();
  ring.push(queue);
  priorities_[queued->lane.priority].is_granted_next = false;
}

Queued* Lanes::find_waiting(std::uint64_t transfer) const {
  for (const auto& [key, queue] : queues_) {
    if (queue.state == State::waiting && queue.head->transfer->id() == transfer) return queue.head;
  }
  return nullptr;
}

void Lanes::resume(Queued* queued) {
  Queue& queue = queue_of(queued->lane);
  MUSTER_CHECK(queue.state == State::waiting, "only what waits is granted");
  queue.state = State::granted;
  ring_of(*queued, State::granted).push(queue);
}

void Lanes::drop(Queued* queued, wire::Frame& frame) {
  Queue& queue = queue_of(queued->lane);
  if (queue.state != State::waiting) ring_of(*queued, queue.state).pop();
  frame.head = queued->frame.head;
  frame.parts = std::move(queued->frame.parts);
  remove_head(queue, queued->lane);
  pool_.give_back(queued);
}

void Lanes::remove_head(Queue& queue, Lane lane) {
  --count_;
  bytes_[is_large(queue.head->size) ? 1 : 0] -= queue.head->size;
  queue.head = queue.head->next;
  if (queue.head == nullptr) return retire(queue);
  queue.state = State::ready;
  priorities_[lane.priority].ready.push(queue);
}

void Lanes::retire(Queue& queue) {
  queue.state = State::idle;
  if (queues_.size() <= kKeptQueues) return;
  if (last_ == &queue) last_ = nullptr;
  queues_.erase(queue.key);
}

void Lanes::restart() {
  priorities_ = {};
  for (auto& [key, queue] : queues_) {
    if (queue.head == nullptr) continue;
    queue.head->transfer.reset();
    queue.state = State::ready;
    ring_of(*queue.head, State::ready).push(queue);
  }
}

}  // namespace muster::net
