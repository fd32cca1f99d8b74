// Context: the threads that libzmq has for one driver.

#pragma once

#include <chrono>

#include "muster/base/clock.h"

namespace muster::drivers::zmq {

// How long a context may take to end. Far more than anything lingers.
inline constexpr Duration kContextPatience = std::chrono::seconds(5);

class Context {
 public:
  explicit Context(Duration patience = kContextPatience);
  // After its sockets were closed. Waits for what lingers, but no longer than
  // `patience`: what libzmq has not ended by then it may end later, or never.
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // As zmq_ctx_new() gives it.
  void* get() const { return context_; }

 private:
  void* const context_;
  const Duration patience_;
};

}  // namespace muster::drivers::zmq
