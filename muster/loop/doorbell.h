// Doorbell: how a sleeper in one process learns of work from others, without
// a system call while it is awake.
//
// The word lies in memory that the consumer and all its producers map. Only
// the order of two accesses on each side makes it work:
//
//   consumer: arm(), then looks for work once more, then sleeps
//   producer: publishes its work, then asks must_ring(), then rings
//
// Either the consumer's second look sees the work, or the producer sees that
// the consumer is about to sleep. For this the producer must publish with a
// seq_cst store or exchange and the consumer must look with seq_cst loads: a
// plain store may still be on its way when the producer reads the word.
//
// A peer can write what it likes here. It can cost a needless ring or a late
// one to itself, nothing else.

#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "muster/loop/thread_env.h"

namespace muster::loop {

template <class Env = ThreadEnv>
class BasicDoorbell {
 public:
  // The consumer is about to sleep. It must look for work after this.
  void arm() { parked_.store(kParked, std::memory_order_seq_cst); }

  // The consumer is awake. A producer that has seen it parked may still ring.
  void disarm() { parked_.store(kAwake, std::memory_order_relaxed); }

  // For a producer that has published: true if it must ring. True for one
  // producer at most per arm(), so that a crowd makes one system call.
  [[nodiscard]] bool must_ring() {
    return parked_.load(std::memory_order_seq_cst) != kAwake &&
           parked_.exchange(kAwake, std::memory_order_seq_cst) != kAwake;
  }

 private:
  static constexpr std::uint32_t kAwake = 0;  // As in a fresh page.
  static constexpr std::uint32_t kParked = 1;

  typename Env::template Atomic<std::uint32_t> parked_{kAwake};
};

using Doorbell = BasicDoorbell<>;

static_assert(std::is_standard_layout_v<Doorbell> && sizeof(Doorbell) == 4);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace muster::loop
