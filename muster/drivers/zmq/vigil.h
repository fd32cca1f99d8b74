// Vigil: how to wait for what libzmq brings.
//
// A thread of libzmq's has to have a processor before a message is there. Who waits
// awake lets it have this one, and asks epoll when it comes back: neither of them is
// then woken on a processor that sleeps, which takes longer than all else they do.

#pragma once

#include <chrono>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"
#include "muster/loop/sources.h"
#include "muster/net/hope.h"

namespace muster::drivers::zmq {

class Vigil final : public loop::Poller {
 public:
  // A message came lately if it came within this time.
  static constexpr Duration kLately = std::chrono::milliseconds(1);

  explicit Vigil(const loop::Loop& loop) : loop_(loop) {}

  // A message came.
  void saw() {
    until_ = loop_.now() + kLately;
    hope_.came();
  }

  // There is nothing to look at but descriptors, which the loop does.
  bool poll() override { return false; }
  loop::Outlook outlook() override {
    const bool stays = loop_.now() < until_ && hope_.is_worth_a_try();
    return stays ? loop::Outlook::relayed : loop::Outlook::none;
  }
  bool arm() override {
    hope_.gave_up();
    return false;
  }
  void disarm() override {}

 private:
  const loop::Loop& loop_;
  TimePoint until_{};
  net::Hope hope_;
};

}  // namespace muster::drivers::zmq
