// BusyPoller: how to wait for the sockets that are busy just now.
//
// A single one is looked at directly while a thread spins. Epoll watches it all
// the same, level-triggered: what was read here is no event there. Where several
// bring bytes in turn, one look at epoll costs less than one at each of them. The same
// goes for a single one where the peers on this machine outnumber its processors: who
// spins there has the processor of one who is to answer, if not to this process.
//
// A peer that needs this very processor cannot have answered before it has had it: once
// its bytes have been read, it is let have it before the next look.
//
// Who takes what was lent does most of both ends' work. If it looks all the time it takes
// each packet by itself, on its sender's account; asleep meanwhile, it finds many.

#pragma once

#include <utility>

#include "muster/base/clock.h"
#include "muster/base/processors.h"
#include "muster/drivers/tcp/crowd.h"
#include "muster/loop/loop.h"
#include "muster/loop/sources.h"

namespace muster::drivers::tcp {

// A socket that can be looked at.
class Pollable {
 public:
  // Reads and writes what can be. True if anything could.
  virtual bool look() = 0;

  // False if nothing can come while this thread keeps the processor.
  virtual bool is_worth_waiting_for() const = 0;

  // True while it is better to come late, to more of it.
  virtual bool is_better_late() const = 0;

 protected:
  ~Pollable() = default;
};

class BusyPoller final : public loop::Poller {
 public:
  explicit BusyPoller(const loop::Loop& loop, unsigned processors = usable_processors())
      : loop_(loop), processors_(processors) {}

  // A peer on this machine is connected, and is no more.
  void add_neighbour() { ++neighbours_; }
  void remove_neighbour() { --neighbours_; }

  // Bytes came from `socket`, by way of epoll.
  void saw(const Pollable& socket, TimePoint now) { crowd_.saw(&socket, now); }
  // Looks at `socket` from now on and at no other, until it is told to forget it.
  void look_at(Pollable& socket) { change_to(&socket); }
  // No harm if it is not there. May be called from inside a look.
  void forget(const Pollable& socket) {
    if (hot_ == &socket) change_to(nullptr);
  }

  bool poll() override;
  loop::Outlook outlook() override;
  // Epoll tells at once if there is something to read already. What a socket has read and
  // not handed on it does not tell, so a look that was left out is made up for.
  bool arm() override {
    crowd_.gave_up();
    return std::exchange(is_peers_turn_, false);
  }
  void disarm() override {}

 private:
  // Where the peer runs is asked of the system, and seldom changes.
  static constexpr unsigned kAskEvery = 8;

  bool is_crowd() const;
  void change_to(Pollable* socket);

  const loop::Loop& loop_;
  const unsigned processors_;
  unsigned neighbours_ = 0;
  Pollable* hot_ = nullptr;
  Crowd crowd_;
  unsigned waits_ = 0;  // For the one that is looked at.
  // When this was last asked how to wait:
  bool is_crowd_ = false;
  bool shares_processor_ = false;  // The peer with this thread.
  bool is_peers_turn_ = false;     // Its bytes have come, and it had no chance to send more.
};

}  // namespace muster::drivers::tcp
