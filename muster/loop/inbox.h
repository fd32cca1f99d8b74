// The way into a loop from other threads.
//
// push() may be called from any thread, drain() only by the holder of the
// baton. Nothing is ever refused, so what comes here must be bounded by its
// sender.

#pragma once

#include <memory>
#include <utility>

#include "muster/loop/thread_env.h"

namespace muster::loop {

template <class T, class Env = ThreadEnv>
class Inbox {
 public:
  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox() {
    drain([](T&) {});
  }

  // Any thread. The caller then tries to take the baton; whoever holds it
  // looks here after giving it up.
  void push(T item) {
    Node* node = std::make_unique<Node>(Node{{}, std::move(item), nullptr}).release();
    Node* old = head_.load(std::memory_order_relaxed);
    do {
      node->next = old;
    } while (!head_.compare_exchange_weak(old, node, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
  }

  bool empty() const { return head_.load(std::memory_order_seq_cst) == nullptr; }

  // Calls `take` with each item, oldest first.
  template <class Take>
  void drain(Take take) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return;
    Node* newest = head_.exchange(nullptr, std::memory_order_acquire);
    Node* oldest = nullptr;
    while (newest != nullptr) {  // The list is newest first.
      Node* const next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      const std::unique_ptr<Node> node(oldest);
      oldest = node->next;
      take(node->item);
    }
  }

 private:
  struct Node : Env::Heap {
    T item;
    Node* next;
  };
  typename Env::template Atomic<Node*> head_{nullptr};
};

}  // namespace muster::loop
