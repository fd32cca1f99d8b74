// A libzmq context with one socket, which is all that a process needs here.
#pragma once

#include <cstddef>
#include <string>

#include "benchmarks/common/shared.h"

namespace muster::bench::zmq {

// Addresses to bind: an abstract name (no file is left behind) unique to this
// run, and a free port of 127.0.0.1.
std::string ipc_address(std::size_t index = 0);
std::string tcp_address();

class Socket {
 public:
  // `type` as for zmq_socket(). Make it after the fork: contexts have threads.
  explicit Socket(int type);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Before bind or connect.
  void set(int option, int value);

  // Binds and posts where, or waits for that and connects.
  void bind(const std::string& address, Notice& bound);
  void connect(const Notice& bound);

  // One message of exactly `size` bytes, copied. Fail the program otherwise.
  void send(const void* data, std::size_t size);
  void receive(void* data, std::size_t size);

  void* handle() const { return socket_; }

 private:
  void* context_;
  void* socket_;
};

}  // namespace muster::bench::zmq
