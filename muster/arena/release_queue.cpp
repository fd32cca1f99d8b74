#include "muster/arena/release_queue.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "muster/arena/remote_block.h"

namespace muster::arena {
namespace {

// The calls of on_first that this thread is inside of, innermost first. A
// callback may drive a loop, and so come to any queue, this one included.
struct Ringing {
  const ReleaseQueue* queue;
  const Ringing* outer;
};
thread_local const Ringing* innermost = nullptr;

int depth_of(const ReleaseQueue* queue) {
  int depth = 0;
  for (const Ringing* call = innermost; call != nullptr; call = call->outer) {
    if (call->queue == queue) ++depth;
  }
  return depth;
}

// Stands at the head of a queue that is closed. Never looked into.
RemoteBlock* closed() {
  static RemoteBlock mark;
  return &mark;
}

}  // namespace

ReleaseQueue::ReleaseQueue(std::function<void()> on_first) : on_first_(std::move(on_first)) {}

ReleaseQueue::~ReleaseQueue() { close(); }

void ReleaseQueue::push(std::uint64_t handle) {
  auto block = std::make_unique<RemoteBlock>();
  block->handle_ = handle;
  push(block.release());
}

void ReleaseQueue::push(RemoteBlock* block) {
  RemoteBlock* head = released_.load(std::memory_order_relaxed);
  do {
    if (head == closed()) return std::default_delete<RemoteBlock>()(block);
    block->next_ = head;
  } while (!released_.compare_exchange_weak(head, block, std::memory_order_release,
                                            std::memory_order_relaxed));
  if (head == nullptr && getpid() == process_) ring();
}

void ReleaseQueue::ring() {
  // Counted first, then looked: close() marks first, then counts. So either
  // this sees the mark or close() waits. Both need the total order.
  ringing_.fetch_add(1, std::memory_order_seq_cst);
  if (released_.load(std::memory_order_seq_cst) != closed() && on_first_) {
    const Ringing call{this, innermost};
    innermost = &call;
    on_first_();
    innermost = call.outer;
  }
  ringing_.fetch_sub(1, std::memory_order_release);
}

bool ReleaseQueue::take(std::vector<std::uint64_t>& handles) {
  if (empty()) return false;
  RemoteBlock* block = released_.exchange(nullptr, std::memory_order_acquire);
  const auto first = static_cast<std::ptrdiff_t>(handles.size());
  while (block != nullptr) {
    handles.push_back(block->handle_);
    RemoteBlock* const older = block->next_;
    block->next_ = std::exchange(free_, block);
    block = older;
  }
  std::reverse(handles.begin() + first, handles.end());
  return true;
}

void ReleaseQueue::close() {
  RemoteBlock* pending = released_.exchange(closed(), std::memory_order_seq_cst);
  const auto destroy_all = [](RemoteBlock* block) {
    while (block != nullptr) {
      std::default_delete<RemoteBlock>()(std::exchange(block, block->next_));
    }
  };
  if (pending != closed()) destroy_all(pending);
  destroy_all(std::exchange(free_, nullptr));
  const int own = depth_of(this);
  while (ringing_.load(std::memory_order_seq_cst) != own) std::this_thread::yield();
  // What it holds goes now, unless it is running below us on the stack.
  if (own == 0) on_first_ = nullptr;
}

bool ReleaseQueue::empty() const {
  const RemoteBlock* head = released_.load(std::memory_order_relaxed);
  return head == nullptr || head == closed();
}

RemoteBlock* ReleaseQueue::spare() {
  if (free_ == nullptr) return std::make_unique<RemoteBlock>().release();
  return std::exchange(free_, free_->next_);
}

}  // namespace muster::arena
