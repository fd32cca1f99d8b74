#include "muster/drivers/zmq/zmq.h"

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"

namespace muster::net::testing {
namespace {

// Any will do, as long as both ends know it.
std::shared_ptr<TokenSource> tokens() {
  return *make_fixed_tokens({{1, std::vector<std::byte>(kTokenSize, std::byte{0x5A})}});
}

std::unique_ptr<Driver> zmq(loop::Loop& loop) {
  return drivers::make_zmq_driver(loop, {.tokens = tokens()});
}

std::unique_ptr<Driver> zmq_with_short_queue(loop::Loop& loop) {
  return drivers::make_zmq_driver(loop, {.tokens = tokens(), .queue_limit = 4096});
}

Address curve() { return {"zmq", "127.0.0.1", 0, 0}; }
Address plain() { return {"zmq", "127.0.0.1", 0, 0, "curve=off"}; }
Address plain_v6() { return {"zmq", "::1", 0, 0, "curve=off"}; }

MUSTER_DRIVER_SUITE(Zmq, make_subject("plain", zmq, plain),
                    make_subject("short_queue", zmq_with_short_queue, plain_v6, Sides::apart));
MUSTER_DRIVER_SUITE(Curve, make_subject("curve", zmq, curve, Sides::apart));
MUSTER_PROCESS_SUITE(Curve, make_subject("curve", zmq, curve));
MUSTER_LINK_SUITE(Zmq, make_subject("plain", zmq, plain),
                  make_subject("short_queue", zmq_with_short_queue, plain_v6, Sides::apart));
MUSTER_LINK_SUITE(Curve, make_subject("curve", zmq, curve, Sides::apart));

}  // namespace
}  // namespace muster::net::testing
