#include "benchmarks/peers/zmq/socket.h"

#include <cerrno>

#include <unistd.h>
#include <zmq.h>

#include "benchmarks/common/fail.h"

namespace muster::bench::zmq {
namespace {

void check(int result, const char* what) {
  if (result < 0) fail(std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

}  // namespace

std::string ipc_address(std::size_t index) {
  return "ipc://@muster-bench-" + std::to_string(getpid()) + "-" + std::to_string(index);
}

std::string tcp_address() { return "tcp://127.0.0.1:*"; }

Socket::Socket(int type) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
  if (socket_ == nullptr) fail("zmq_socket failed");
}

Socket::~Socket() {
  zmq_close(socket_);
  zmq_ctx_term(context_);
}

void Socket::set(int option, int value) {
  check(zmq_setsockopt(socket_, option, &value, sizeof(value)), "zmq_setsockopt");
}

Keys make_keys() {
  Keys keys{};
  check(zmq_curve_keypair(keys.server_open, keys.server_secret), "zmq_curve_keypair");
  check(zmq_curve_keypair(keys.client_open, keys.client_secret), "zmq_curve_keypair");
  return keys;
}

void Socket::encrypt_as_server(const Keys* keys) {
  if (keys == nullptr) return;
  set(ZMQ_CURVE_SERVER, 1);
  check(zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, keys->server_secret, 41), "CURVE");
}

void Socket::encrypt_as_client(const Keys* keys) {
  if (keys == nullptr) return;
  check(zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, keys->server_open, 41), "CURVE");
  check(zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, keys->client_open, 41), "CURVE");
  check(zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, keys->client_secret, 41), "CURVE");
}

void Socket::bind(const std::string& address, Notice& bound) {
  check(zmq_bind(socket_, address.c_str()), "zmq_bind");
  char actual[256] = {};
  std::size_t length = sizeof(actual);
  check(zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, actual, &length), "ZMQ_LAST_ENDPOINT");
  bound.post(actual);
}

void Socket::connect(const Notice& bound) {
  check(zmq_connect(socket_, bound.wait().c_str()), "zmq_connect");
}

void Socket::send(const void* data, std::size_t size) {
  int sent = 0;
  do {
    sent = zmq_send(socket_, data, size, 0);
  } while (sent < 0 && zmq_errno() == EINTR);
  check(sent, "zmq_send");
}

void Socket::receive(void* data, std::size_t size) {
  int got = 0;
  do {
    got = zmq_recv(socket_, data, size, 0);
  } while (got < 0 && zmq_errno() == EINTR);
  check(got, "zmq_recv");
  if (static_cast<std::size_t>(got) != size) fail("zmq gave a message of the wrong size");
}

}  // namespace muster::bench::zmq
