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

// What two sockets encrypt with; null where they do not.
struct Keys {
  char server_open[41];
  char server_secret[41];
  char client_open[41];
  char client_secret[41];
};
// New ones. Make them before the fork.
Keys make_keys();

class Socket {
 public:
  // `type` as for zmq_socket(). Make it after the fork: contexts have threads.
  explicit Socket(int type);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Before bind or connect.
  void set(int option, int value);

  // Before bind or connect: with CURVE, if there are keys.
  void encrypt_as_server(const Keys* keys);
  void encrypt_as_client(const Keys* keys);

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
