// Crowd: do several sockets bring bytes in turn, and is it worth staying awake for them? Pure.
//
// Where peers outnumber the processors, whoever waits for one had better let another
// run: a switch costs a microsecond or two, to sleep and to be woken twenty.

#pragma once

#include <chrono>

#include "muster/base/clock.h"
#include "muster/net/hope.h"

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
    hope_.came();
  }

  // Bytes came from two at least, lately.
  bool is_there(TimePoint now) const { return now < others_until_; }

  // Bytes came from any.
  bool is_anybody_there(TimePoint now) const { return now < last_until_; }

  // Asked while it is there, before each sleep. True: stay awake a little longer.
  bool is_worth_a_try() { return hope_.is_worth_a_try(); }

  // A thread goes to sleep, after a try or without.
  void gave_up() { hope_.gave_up(); }

 private:
  const void* last_ = nullptr;  // Only compared.
  TimePoint last_until_{};      // Until when its bytes came lately;
  TimePoint others_until_{};    // the same of all others.
  net::Hope hope_;
};

}  // namespace muster::drivers::tcp
