// 64 MiB bodies over loopback TCP, as fast as we can make it.
//
// What matters here, by trying: cubic instead of the system's default, buffers
// of 2 MB (more falls out of the cache, less waits too often), a receive
// straight into memory that has been touched before; pages that are given to the
// socket instead of copied, by way of a pipe, 1 MiB at once; and a receiver that sleeps
// while nothing is there, so that it finds much when it comes.
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

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

class Pipe {
 public:
  Pipe() {
    check_call(pipe2(ends_, O_CLOEXEC), "pipe2");
    check_call(fcntl(ends_[1], F_SETPIPE_SZ, kAtOnce), "enlarge a pipe");
  }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // The memory is the peer's to read until it has said that it has it.
  void lend(const Socket& socket, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const iovec some{bytes.data(), std::min<std::size_t>(bytes.size(), kAtOnce)};
      const auto put = check_call(vmsplice(ends_[1], &some, 1, 0), "vmsplice");
      for (auto left = put; left > 0;) {
        const auto moved =
            splice(ends_[0], nullptr, socket.fd(), nullptr, static_cast<std::size_t>(left), 0);
        if (moved > 0) left -= moved;
        if (moved < 0 && errno != EAGAIN) fail_errno("splice");
      }
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
  }

 private:
  static constexpr int kAtOnce = 1 << 20;
  int ends_[2] = {};
};

void receive_bodies(const Socket& socket) {
  const BodyBuffer buffer;
  for (;;) {
    Head head{};
    socket.spin_receive(&head, sizeof(head));
    if (head.size == 0) return;
    if (head.size != kLargeBody) fail("a body of the wrong size");
    socket.receive_all(buffer.bytes().data(), head.size);
    const Arrival arrival{head.number, now_ns()};
    verify_body(buffer.bytes(), head.number);
    socket.spin_send(&arrival, sizeof(arrival));
  }
}

Report send_bodies(const Options& options, const Socket& socket) {
  const BodyBuffer buffer;
  const Pipe pipe;
  const Report report = time_bodies(options, buffer.bytes(), [&](std::uint64_t number) {
    const Head head{number, kLargeBody};
    socket.spin_send(&head, sizeof(head));
    pipe.lend(socket, buffer.bytes());
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
