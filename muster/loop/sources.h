// What a loop calls: descriptors that are ready, sources to poll, work to flush.

#pragma once

#include <cstdint>

namespace muster::loop {

class FdHandler {
 public:
  // `events` as epoll gives them. May unwatch and destroy itself.
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  ~FdHandler() = default;
};

// What a wait may hope for, and who needs the processor for it. Later ones weigh more.
enum class Outlook : std::uint8_t {
  none,     // Asking again and again cannot pay: it had better sleep.
  soon,     // A peer works on another processor: it looks again and again.
  one,      // A peer needs this very processor: it lets it have it, and looks again.
  several,  // So do several: it does so as long as one after the other answers.
  sockets,  // The same for longer, since what they send has to be asked of the system.
  relayed,  // Longer still: threads of others carry it, one after the other.
};

// Something that can be asked for work without sleeping: rings in shared
// memory, sockets that are busy just now.
class Poller {
 public:
  // Does what there is. True if there was anything.
  virtual bool poll() = 0;

  // Asked before a thread sleeps.
  virtual Outlook outlook() = 0;

  // So is this: whether it has found awake all to whom something was sent last.
  virtual bool has_woken_nobody() const { return false; }

  // The loop is about to sleep: from now on new work must ring the loop's
  // wake descriptor. Then looks again; true if there is work after all.
  virtual bool arm() = 0;

  // The loop is awake again.
  virtual void disarm() = 0;

 protected:
  ~Poller() = default;
};

// Has gathered work that is cheaper done once for many, such as publishing a
// ring's index or writing to a socket.
class Flusher {
 public:
  virtual void flush() = 0;

  bool is_queued = false;  // The loop's own marks.
  bool is_due_soon = false;

 protected:
  ~Flusher() = default;
};

}  // namespace muster::loop
