// The same over TCP, but each side sleeps in epoll until something arrives.
#include <cerrno>

#include <sys/epoll.h>
#include <unistd.h>

#include "benchmarks/common/fail.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/peers/raw/cases.h"
#include "benchmarks/peers/raw/socket.h"

namespace muster::bench::raw {
namespace {

class Poller {
 public:
  explicit Poller(const Socket& socket)
      : socket_(socket), fd_(check_call(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    epoll_event event{};
    event.events = EPOLLIN;
    check_call(epoll_ctl(fd_, EPOLL_CTL_ADD, socket.fd(), &event), "epoll_ctl");
  }
  ~Poller() { close(fd_); }
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // 64 bytes arrive in one piece over loopback; should they ever not, the rest
  // is waited for by spinning, which is still correct.
  void receive(Message& message) const {
    epoll_event event{};
    while (epoll_wait(fd_, &event, 1, -1) < 1) {
      if (errno != EINTR) fail_errno("epoll_wait");
    }
    socket_.spin_receive(&message, sizeof(message));
  }

 private:
  const Socket& socket_;
  int fd_;
};

}  // namespace

Report tcp_parked(const Options& options) {
  Report report;
  run_over_tcp(
      {},
      [](const Socket& socket) {
        const Poller poller(socket);
        echo([&](Message& message) { poller.receive(message); },
             [&](const Message& message) { socket.send_all(&message, sizeof(message)); });
      },
      [&](const Socket& socket) {
        const Poller poller(socket);
        report = time_parked(options, [&](Message& message) {
          socket.send_all(&message, sizeof(message));
          poller.receive(message);
        });
      });
  return report;
}

}  // namespace muster::bench::raw
