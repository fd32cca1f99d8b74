// Worker: the thread that carries out the operations nobody waits for.
//
// Made with the first of them. Each is done when its ticket's turn comes, so
// that they keep their place among those that other threads do themselves.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "muster/collectives/turnstile.h"
#include "muster/loop/inbox.h"

namespace muster::collectives::internal {

class Worker {
 public:
  explicit Worker(Turnstile& turnstile);
  // What it has not begun is done with before it goes; `task`s see to it that
  // this is quick.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Any thread. `task` runs between its turn and Turnstile::leave().
  void give(Turnstile::Ticket ticket, std::function<void()> task);
  // Any thread. Somebody has left the turnstile.
  void look();

 private:
  struct Task {
    Turnstile::Ticket ticket;
    std::function<void()> run;
  };

  void work();

  Turnstile& turnstile_;
  loop::Inbox<Task> inbox_;
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<bool> is_stopping_{false};
  std::map<Turnstile::Ticket, std::function<void()>> waiting_;
  std::thread thread_;
};

}  // namespace muster::collectives::internal
