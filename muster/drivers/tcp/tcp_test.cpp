#include "muster/drivers/tcp/tcp.h"

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"

namespace muster::net::testing {
namespace {

std::unique_ptr<Driver> tcp(loop::Loop& loop) { return drivers::make_tcp_driver(loop); }

std::unique_ptr<Driver> tcp_with_short_queue(loop::Loop& loop) {
  return drivers::make_tcp_driver(loop, {.queue_limit = 4096});
}

// Any will do, as long as both ends know it.
std::shared_ptr<TokenSource> tokens() {
  return *make_fixed_tokens({{1, std::vector<std::byte>(kTokenSize, std::byte{0x5A})}});
}

std::unique_ptr<Driver> tls(loop::Loop& loop) {
  return drivers::make_tcp_driver(loop, {.tls = {.tokens = tokens()}});
}

std::unique_ptr<Driver> tls_with_short_queue(loop::Loop& loop) {
  return drivers::make_tcp_driver(loop, {.queue_limit = 4096, .tls = {.tokens = tokens()}});
}

// Where the kernel has no TLS this is no different.
std::unique_ptr<Driver> tls_by_the_kernel(loop::Loop& loop) {
  return drivers::make_tcp_driver(loop, {.tls = {.tokens = tokens(), .use_kernel = true}});
}

Address v4() { return {"tcp", "127.0.0.1", 0, 0}; }
Address v6() { return {"tcp", "::1", 0, 0}; }
Address v4_encrypted() { return {"tcp", "127.0.0.1", 0, 0, "tls=on"}; }
Address v6_encrypted() { return {"tcp", "::1", 0, 0, "tls=on"}; }

// Two chunks of what is lent, 1 MiB each; what the kernel takes beyond what it can send, and
// what the peer's buffer of 4 MiB holds. As a rule it is half of that.
Subject prompt(Subject subject) {
  subject.most_ahead = std::size_t{13} << 19;
  return subject;
}

MUSTER_DRIVER_SUITE(Tcp, make_subject("v4", tcp, v4), make_subject("v6", tcp, v6),
                    make_subject("apart", tcp, v4, Sides::apart),
                    make_subject("short_queue", tcp_with_short_queue, v4, Sides::apart));
MUSTER_DRIVER_SUITE(Tls, make_subject("tls_v4", tls, v4_encrypted),
                    make_subject("tls_v6", tls, v6_encrypted),
                    make_subject("tls_apart", tls, v4_encrypted, Sides::apart),
                    make_subject("tls_kernel", tls_by_the_kernel, v4_encrypted, Sides::apart),
                    make_subject("tls_short_queue", tls_with_short_queue, v4_encrypted,
                                 Sides::apart));
MUSTER_PROCESS_SUITE(Tcp, make_subject("v4", tcp, v4));
MUSTER_LINK_SUITE(Tcp, prompt(make_subject("v4", tcp, v4)), prompt(make_subject("v6", tcp, v6)),
                  prompt(make_subject("apart", tcp, v4, Sides::apart)),
                  prompt(make_subject("short_queue", tcp_with_short_queue, v4, Sides::apart)));
MUSTER_PROCESS_SUITE(Tls, make_subject("tls_v4", tls, v4_encrypted));

}  // namespace
}  // namespace muster::net::testing
