// One thread's wait. Not installed as an interface: sources of this folder share it.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "muster/loop/loop.h"

namespace muster::loop {

// Lives on the waiting thread's stack; all but `word` is guarded by the baton.
struct Loop::Waiter {
  const std::function<bool()>* done = nullptr;
  TimePoint deadline = kForever;
  bool is_keeper = false;
  bool is_asleep = false;  // Somebody else must tell it that it is done.
  bool is_parked = false;  // Asleep in epoll, else on its own word.
  bool spun = false;       // Since it last slept.
  struct Spin {            // The one that goes on.
    std::uint32_t looks = 0;
    TimePoint until{};
    bool was_away = false;  // Somebody else had the processor meanwhile.
  };
  Spin spin;
  std::atomic<std::uint32_t> word{0};

  bool is_done() const { return done != nullptr && (*done)(); }
};

}  // namespace muster::loop
