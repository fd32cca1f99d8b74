// What the hand-over protocols need of a machine: atomics, and sleeping on a word.
//
// Baton, Inbox and the doorbells are templates over this, so that a test can
// run the very same code under every interleaving (loop/testing/model.h).

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "muster/base/clock.h"

namespace muster::loop {

// Sleeps while `word` holds `expected`, at most for `timeout`. May return early.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<Duration> timeout = std::nullopt);
void futex_wake(std::atomic<std::uint32_t>& word, int count = 1);

// Tells the processor that this thread only looks again and again.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct ThreadEnv {
  template <class T>
  using Atomic = std::atomic<T>;
  struct Heap {};  // Base of what is made one by one: the plain heap.

  static void wait(Atomic<std::uint32_t>& word, std::uint32_t expected) {
    futex_wait(word, expected);
  }
  static void wake_one(Atomic<std::uint32_t>& word) { futex_wake(word); }
  static void relax() { pause(); }
  static void yield();                    // The processor, to one who waits for it.
  static constexpr int kPatience = 2000;  // Looks before a thread sleeps for the baton.
};

}  // namespace muster::loop
