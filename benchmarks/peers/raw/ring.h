// A ring of 64-byte messages from one process to one other, in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "benchmarks/common/message.h"

namespace muster::bench::raw {

// Tells the processor that this is a loop of waiting.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Either index has a cache line of its own, so that the two sides meet only
// where they must.
class Ring {
 public:
  bool try_push(const Message& message) {
    const std::uint64_t at = head_.load(std::memory_order_relaxed);
    if (at - seen_tail_ == kSlots) {
      // Looked at only when the ring seems full: each look fetches the line
      // that the reader writes.
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (at - seen_tail_ == kSlots) return false;
    }
    slots_[at % kSlots] = message;
    head_.store(at + 1, std::memory_order_release);
    return true;
  }

  bool try_pop(Message& message) {
    const std::uint64_t at = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == at) return false;
    message = slots_[at % kSlots];
    tail_.store(at + 1, std::memory_order_release);
    return true;
  }

  bool empty() const { return head_.load() == tail_.load(); }

 private:
  static constexpr std::size_t kSlots = 1024;

  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::uint64_t seen_tail_ = 0;  // the writer's
  alignas(64) std::array<Message, kSlots> slots_{};
};

}  // namespace muster::bench::raw
