// Turnstile: lets threads in one at a time, in the order in which they asked.

#pragma once

#include <atomic>
#include <cstdint>

namespace muster::collectives::internal {

class Turnstile {
 public:
  using Ticket = std::uint64_t;

  Ticket take() { return next_.fetch_add(1, std::memory_order_seq_cst); }
  bool is_turn_of(Ticket ticket) const {
    return serving_.load(std::memory_order_acquire) == ticket;
  }
  void wait_for(Ticket ticket) const {
    for (;;) {
      const Ticket serving = serving_.load(std::memory_order_seq_cst);
      if (serving == ticket) return;
      serving_.wait(serving, std::memory_order_acquire);
    }
  }
  // Whoever is inside leaves.
  void leave() {
    const Ticket next = serving_.load(std::memory_order_relaxed) + 1;
    serving_.store(next, std::memory_order_seq_cst);
    // Who takes a ticket after this look finds that it is its turn.
    if (next_.load(std::memory_order_seq_cst) != next) serving_.notify_all();
  }

 private:
  std::atomic<Ticket> next_{0};
  std::atomic<Ticket> serving_{0};
};

}  // namespace muster::collectives::internal
