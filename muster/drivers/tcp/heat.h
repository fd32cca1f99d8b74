// Heat: is it worth looking at this socket again and again? Pure.
//
// A look that finds nothing costs about 0.3 us, so a socket is looked at only
// while bytes follow each other closely, less and less often while nothing
// comes, and after a few tens of microseconds in vain no more. One that keeps
// disappointing is tried ever more rarely.

#pragma once

#include <chrono>

#include "muster/base/clock.h"

namespace muster::drivers::tcp {

class Heat {
 public:
  // Bytes that follow others within this time may be worth waiting for.
  static constexpr Duration kClose = std::chrono::microseconds(100);
  // Looks in vain before they become rarer, and before they end.
  static constexpr int kEager = 24;
  static constexpr int kPatience = 100;
  static constexpr int kRarely = 8;

  // Bytes came at `now` without having been looked for. True: look for the next.
  bool warmed(TimePoint now) {
    const bool is_close = now - last_ < kClose;
    last_ = now;
    if (!is_close) return false;
    if (to_skip_ > 0) {
      --to_skip_;
      return false;
    }
    in_vain_ = 0;
    return true;
  }

  // Asked before each look: is it time for one?
  bool is_due() { return in_vain_ < kEager || ++asked_ % kRarely == 0; }

  // A look found bytes.
  void hit() {
    in_vain_ = 0;
    disappointments_ = 0;
  }

  // A look found nothing. True: it was the last.
  bool missed() {
    if (++in_vain_ < kPatience) return false;
    to_skip_ = (1 << disappointments_) - 1;
    if (disappointments_ < kMostDisappointments) ++disappointments_;
    return true;
  }

 private:
  static constexpr int kMostDisappointments = 7;

  TimePoint last_{};
  int in_vain_ = 0;
  int to_skip_ = 0;
  unsigned asked_ = 0;
  int disappointments_ = 0;
};

}  // namespace muster::drivers::tcp
