// BusyPoller: looks at the few busy sockets directly while a thread spins.
//
// Epoll watches them all the same, level-triggered: what was read here is no
// event there.

#pragma once

#include <array>
#include <cstddef>

#include "muster/base/clock.h"
#include "muster/loop/sources.h"

namespace muster::drivers::tcp {

// A socket that can be looked at.
class Pollable {
 public:
  // Reads and writes what can be. True if anything could.
  virtual bool look() = 0;

  // False if nothing can come while this thread keeps the processor.
  virtual bool is_worth_waiting_for() const = 0;

 protected:
  ~Pollable() = default;
};

class BusyPoller final : public loop::Poller {
 public:
  // Looks at `socket` from now on, until it is told to forget it. Too many
  // at once are better left to epoll: then all are forgotten for a while.
  void add(Pollable& socket, TimePoint now);
  // No harm if it is not there. May be called from inside a look.
  void forget(Pollable& socket);

  bool poll() override;
  bool is_worth_spinning() override;
  // Epoll tells at once if there is something to read already.
  bool arm() override { return false; }
  void disarm() override {}

 private:
  static constexpr std::size_t kMost = 4;

  std::array<Pollable*, kMost> sockets_{};
  std::size_t count_ = 0;
  TimePoint crowded_until_{};
};

}  // namespace muster::drivers::tcp
