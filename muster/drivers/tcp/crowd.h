// Crowd: do several sockets bring bytes in turn, and is it worth staying awake for them? Pure.
//
// Where peers outnumber the processors, whoever waits for one had better let another
// run: a switch costs a microsecond or two, to sleep and to be woken twenty. Waits that
// ended in a sleep all the same make the next try come later.

#pragma once

#include <chrono>

#include "muster/base/clock.h"

namespace muster::drivers::tcp {

class Crowd {
 public:
  // Bytes came lately if they came within this time.
  static constexpr Duration kLately = std::chrono::milliseconds(1);

  // Bytes came from `socket`.
  void saw(const void* socket, TimePoint now) {
    if (socket != last_) others_until_ = last_until_;
    last_ = socket;
    last_until_ = now + kLately;
    if (is_hoping_) in_vain_ = 0;
    is_hoping_ = false;
  }

  // Bytes came from two at least, lately.
  bool is_there(TimePoint now) const { return now < others_until_; }

  // Asked while it is there, before each sleep. True: stay awake a little longer.
  bool is_worth_a_try() {
    if (to_skip_ > 0) {
      --to_skip_;
      return false;
    }
    is_hoping_ = true;
    return true;
  }

  // A thread goes to sleep, after a try or without.
  void gave_up() {
    if (!is_hoping_) return;
    is_hoping_ = false;
    to_skip_ = (1 << in_vain_) - 1;
    if (in_vain_ < kMostInVain) ++in_vain_;
  }

 private:
  static constexpr int kMostInVain = 7;

  const void* last_ = nullptr;  // Only compared.
  TimePoint last_until_{};      // Until when its bytes came lately;
  TimePoint others_until_{};    // the same of all others.
  bool is_hoping_ = false;      // A try has begun, and nothing came yet.
  int in_vain_ = 0;             // Tries, one after the other.
  int to_skip_ = 0;
};

}  // namespace muster::drivers::tcp
