// An nng PAIR socket: nng's fastest pattern between two processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "benchmarks/common/shared.h"

namespace muster::bench::nng {

// Addresses to listen on: an abstract name unique to this run, and a free port
// of 127.0.0.1.
std::string ipc_address();
std::string tcp_address();

class Socket {
 public:
  // Make it after the fork: nng starts its threads with the first socket.
  Socket();
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Listens and posts where, or waits for that and dials.
  void listen(const std::string& address, Notice& bound);
  void dial(const Notice& bound);

  // One message of exactly `size` bytes, copied. Fail the program otherwise.
  void send(const void* data, std::size_t size);
  void receive(void* data, std::size_t size);

 private:
  std::uint32_t id_;
};

}  // namespace muster::bench::nng
