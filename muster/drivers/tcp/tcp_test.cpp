#include "muster/drivers/tcp/tcp.h"

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"

namespace muster::net::testing {
namespace {

std::unique_ptr<Driver> tcp(loop::Loop& loop) { return drivers::make_tcp_driver(loop); }

std::unique_ptr<Driver> tcp_with_short_queue(loop::Loop& loop) {
  return drivers::make_tcp_driver(loop, {.queue_limit = 4096});
}

Address v4() { return {"tcp", "127.0.0.1", 0, 0}; }
Address v6() { return {"tcp", "::1", 0, 0}; }

MUSTER_DRIVER_SUITE(Tcp, make_subject("v4", tcp, v4), make_subject("v6", tcp, v6),
                    make_subject("apart", tcp, v4, Sides::apart),
                    make_subject("short_queue", tcp_with_short_queue, v4, Sides::apart));
MUSTER_PROCESS_SUITE(Tcp, make_subject("v4", tcp, v4));
MUSTER_LINK_SUITE(Tcp, make_subject("v4", tcp, v4), make_subject("v6", tcp, v6),
                  make_subject("apart", tcp, v4, Sides::apart),
                  make_subject("short_queue", tcp_with_short_queue, v4, Sides::apart));

}  // namespace
}  // namespace muster::net::testing
