#include "muster/drivers/zmq/context.h"

#include <cerrno>
#include <future>
#include <thread>
#include <utility>

#include <zmq.h>

#include "muster/base/log.h"

namespace muster::drivers::zmq {
namespace {

// Each that dials takes three.
constexpr int kMostSockets = 30'000;
// A wait is made of that many, so that a process which was stopped in the
// middle of one has not waited in vain.
constexpr int kWaits = 50;

bool comes(const std::future<void>& end, Duration patience) {
  for (int i = 0; i < kWaits; ++i) {
    if (end.wait_for(patience / kWaits) == std::future_status::ready) return true;
  }
  return false;
}

}  // namespace

Context::Context(Duration patience) : context_(zmq_ctx_new()), patience_(patience) {
  zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, kMostSockets);
}

// On a thread of its own, since libzmq waits for as long as it takes.
Context::~Context() {
  std::promise<void> promise;
  const std::future<void> end = promise.get_future();
  std::thread ending([context = context_, promise = std::move(promise)]() mutable {
    while (zmq_ctx_term(context) != 0 && errno == EINTR) continue;
    promise.set_value();
  });
  if (comes(end, patience_)) {
    ending.join();
  } else {
    ending.detach();
    log::warning("zmq context left behind  why libzmq waits for a socket that does not end");
  }
}

}  // namespace muster::drivers::zmq
