// VirtualThread: a thread of a test's own making, of which many share one of the system's.

#pragma once

#include <functional>

#include "muster/base/clock.h"

namespace muster::loop {

class Loop;

class VirtualThread {
 public:
  // What Loop::wait_until() does, without holding up the thread that all share.
  virtual bool wait_until(Loop& loop, const std::function<bool()>& done, TimePoint deadline) = 0;

 protected:
  ~VirtualThread() = default;
};

// The one that runs here now. Null: this is a thread of the system's.
extern thread_local VirtualThread* virtual_thread;

}  // namespace muster::loop
