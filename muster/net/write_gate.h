// WriteGate: write at once, or wait for more to write together? Pure.
//
// A system call costs as much as copying dozens of small frames. A sender that
// has been quiet, or that answers what it reads, is served at once; one that
// sends and sends has its frames gathered. What is held back is written when
// there is a batch of it, or when the loop calls again, tens of microseconds
// later: never by a timer.

#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

#include "muster/base/clock.h"

namespace muster::net {

class WriteGate {
 public:
  // What is held back is written once there is this much.
  static constexpr std::size_t kBatch = std::size_t{32} << 10;
  // Sends further apart than this do not follow each other quickly.
  static constexpr Duration kQuiet = std::chrono::microseconds(20);
  // How many may follow each other quickly, with nothing read in between,
  // before they are held back.
  static constexpr int kFree = 2;

  // There is something new to write while nothing is held back, and it answers
  // what was read: it is written at once, whatever the time.
  bool answers() { return std::exchange(is_answering_, false); }

  // There is something new to write while nothing is held back. False: hold
  // it back, and ask the loop to call again.
  bool may_write(TimePoint now) {
    const bool is_quick = now - last_ < kQuiet;
    last_ = now;
    run_ = is_quick ? run_ + 1 : 0;
    is_holding_ = run_ > kFree;
    return !is_holding_;
  }

  // What was held back is being written.
  void release(TimePoint now) {
    last_ = now;
    is_holding_ = false;
  }

  // The peer sent something: whoever answers is not one who sends and sends.
  void was_read() {
    run_ = 0;
    is_answering_ = true;
  }

  bool is_holding() const { return is_holding_; }

 private:
  TimePoint last_{};
  int run_ = 0;  // Sends that followed each other quickly.
  bool is_holding_ = false;
  bool is_answering_ = false;
};

}  // namespace muster::net
