// The baton: whoever holds it may touch what the loop owns.
//
// Holding it is short: a thread gives it up before it sleeps, so that whoever
// wants it finds it free, or held by a thread that is awake. Work that was
// left in the inbox is never forgotten: the holder looks there once more
// *after* it has given the baton up, and a poster tries to take the baton
// *after* it has left the work. One of the two sees the other.

#pragma once

#include <cstdint>

#include "muster/loop/thread_env.h"

namespace muster::loop {

template <class Env = ThreadEnv>
class BasicBaton {
 public:
  bool try_take() {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kHeld, std::memory_order_seq_cst);
  }

  // Waits until it is there.
  void take() {
    if (try_take()) return;
    for (;;) {
      // After a sleep too: a holder that gives way does so for a moment, which
      // one who has just been woken would miss.
      if (take_awake()) return;
      if (word_.exchange(kWanted, std::memory_order_seq_cst) == kFree) return;
      Env::wait(word_, kWanted);
    }
  }

  // Gives it up and looks once more with `has_work`. False: there was work, and
  // the caller holds the baton again, to do it.
  template <class HasWork>
  [[nodiscard]] bool give(HasWork has_work) {
    release();
    return !(has_work() && try_take());
  }

  // Gives it up without a second look: only for one who posts nothing and
  // leaves nothing.
  void release() {
    if (word_.exchange(kFree, std::memory_order_seq_cst) == kWanted) Env::wake_one(word_);
  }

  // For one who has just given it up because it was wanted: waits a moment for
  // the other to come and take it.
  void stand_back() const {
    for (int look = 0; look < kPoliteLooks; ++look) {
      if (word_.load(std::memory_order_relaxed) != kFree) return;
      Env::relax();
    }
    Env::yield();
  }

  // For the holder: somebody else waits for it.
  bool is_wanted() const { return word_.load(std::memory_order_relaxed) == kWanted; }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kWanted = 2;
  static constexpr int kPoliteLooks = Env::kPatience / 100;

  bool take_awake() {
    for (int look = 0; look < Env::kPatience; ++look) {
      if (word_.load(std::memory_order_relaxed) == kFree &&
          word_.exchange(kWanted, std::memory_order_seq_cst) == kFree) {
        return true;
      }
      if (look == kPoliteLooks) announce();
      Env::relax();
    }
    return false;
  }

  // From here on the holder can see that somebody wants it.
  void announce() {
    std::uint32_t held = kHeld;
    word_.compare_exchange_strong(held, kWanted, std::memory_order_relaxed);
  }

  typename Env::template Atomic<std::uint32_t> word_{kFree};
};

using Baton = BasicBaton<>;

}  // namespace muster::loop
