// TCP over loopback, as plain as it gets.
#pragma once

#include <cstddef>
#include <functional>

namespace muster::bench::raw {

struct SocketOptions {
  // 0 leaves the kernel's choice. Set before connect and listen: later the
  // window that was agreed on can no longer grow.
  int buffer_bytes = 0;
  // Cubic or reno instead of the system's default, which may pace itself.
  bool loss_based = false;
};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&&) = delete;

  int fd() const { return fd_; }

  // Send and receive all of it. The spinning ones never sleep.
  void send_all(const void* data, std::size_t size) const;
  void receive_all(void* data, std::size_t size) const;
  void spin_send(const void* data, std::size_t size) const;
  void spin_receive(void* data, std::size_t size) const;

 private:
  void receive(void* data, std::size_t size, int flags) const;

  int fd_;
};

// Listens on a free port of 127.0.0.1, forks `server` with the accepted end and
// gives this process the other. Returns when both are done.
void run_over_tcp(const SocketOptions& options, const std::function<void(const Socket&)>& server,
                  const std::function<void(const Socket&)>& client);

}  // namespace muster::bench::raw
