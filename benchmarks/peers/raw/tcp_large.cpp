// 64 MiB bodies over loopback TCP, as fast as we can make it.
//
// What matters here, by trying: cubic instead of the system's default, buffers
// of 2 MB (more falls out of the cache, less waits too often), a receive
// straight into memory that has been touched before, and no sleeping.
#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/large.h"
#include "benchmarks/peers/raw/cases.h"
#include "benchmarks/peers/raw/socket.h"

namespace muster::bench::raw {
namespace {

constexpr SocketOptions kTuned{.buffer_bytes = 2 << 20, .loss_based = true};

// In front of every body. A size of 0 ends the run.
struct Head {
  std::uint64_t number;
  std::uint64_t size;
};

void receive_bodies(const Socket& socket) {
  const BodyBuffer buffer;
  for (;;) {
    Head head{};
    socket.spin_receive(&head, sizeof(head));
    if (head.size == 0) return;
    if (head.size != kLargeBody) fail("a body of the wrong size");
    socket.spin_receive(buffer.bytes().data(), head.size);
    const Arrival arrival{head.number, now_ns()};
    verify_body(buffer.bytes(), head.number);
    socket.spin_send(&arrival, sizeof(arrival));
  }
}

Report send_bodies(const Options& options, const Socket& socket) {
  const BodyBuffer buffer;
  const Report report = time_bodies(options, buffer.bytes(), [&](std::uint64_t number) {
    const Head head{number, kLargeBody};
    socket.spin_send(&head, sizeof(head));
    socket.spin_send(buffer.bytes().data(), kLargeBody);
    Arrival arrival{};
    socket.spin_receive(&arrival, sizeof(arrival));
    return arrival;
  });
  const Head stop{};
  socket.spin_send(&stop, sizeof(stop));
  return report;
}

}  // namespace

Report tcp_large(const Options& options) {
  Report report;
  run_over_tcp(kTuned, receive_bodies,
               [&](const Socket& socket) { report = send_bodies(options, socket); });
  return report;
}

}  // namespace muster::bench::raw
