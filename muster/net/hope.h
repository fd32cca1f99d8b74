// Hope: is it worth staying awake for what may come? Pure.
//
// To stay awake saves a sleep and a wake-up, if it comes soon, and is a processor taken
// from others if it does not. Waits that ended in a sleep all the same make the next
// try come later.

#pragma once

namespace muster::net {

class Hope {
 public:
  // Asked before each sleep. True: stay awake a little longer.
  bool is_worth_a_try() {
    if (to_skip_ > 0) {
      --to_skip_;
      return false;
    }
    is_hoping_ = true;
    return true;
  }

  // Something came.
  void came() {
    if (is_hoping_) in_vain_ = 0;
    is_hoping_ = false;
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

  bool is_hoping_ = false;  // A try has begun, and nothing came yet.
  int in_vain_ = 0;         // Tries, one after the other.
  int to_skip_ = 0;
};

}  // namespace muster::net
