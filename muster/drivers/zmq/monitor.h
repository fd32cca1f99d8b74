// Monitor: what libzmq otherwise keeps to itself about a socket's connections.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/drivers/zmq/socket.h"
#include "muster/loop/loop.h"

namespace muster::drivers::zmq {

struct Happening {
  enum class Kind : std::uint8_t {
    accepted,  // Somebody has come; nothing is known of it yet.
    proved,    // Both ends have finished the handshake.
    refused,   // They have not; `why` says as much as libzmq does. `lost` follows.
    lost,      // The connection is gone.
    closed,    // Nothing came of dialling; or, of a listener, it has stopped.
  };
  Kind kind;
  int descriptor = -1;  // Of the connection; not of one that was proved or refused.
  std::string why = {};
};

class Monitor final : loop::FdHandler {
 public:
  // May destroy the monitor.
  using Tell = std::function<void(const Happening&)>;

  // `name` is of this monitor alone within the context. `watched` is neither
  // bound nor connected yet, and outlives the monitor.
  Monitor(loop::Loop& loop, void* context, Socket& watched, const std::string& name, Tell tell);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Code::overloaded if the process has no descriptor left.
  Status start();

  // Waits, for a moment only, until the listener has stopped: what happens
  // meanwhile is told before this returns.
  void wait_until_closed(Duration patience);

 private:
  void on_ready(std::uint32_t events) override;
  bool next(Happening& happening);
  // False if this monitor is gone.
  bool tell_all(bool& is_closed);

  loop::Loop& loop_;
  Socket& watched_;
  std::string endpoint_;
  Socket events_;
  std::shared_ptr<const Tell> tell_;  // Shared with a call of it that is under way.
  int watching_ = -1;
};

}  // namespace muster::drivers::zmq
