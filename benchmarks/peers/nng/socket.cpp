#include "benchmarks/peers/nng/socket.h"

#include <arpa/inet.h>
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <unistd.h>

#include "benchmarks/common/fail.h"

namespace muster::bench::nng {
namespace {

// The largest that nng takes; its default of none makes every send wait.
constexpr int kQueue = 8192;

void check(int result, const char* what) {
  if (result != 0) fail(std::string(what) + ": " + nng_strerror(result));
}

}  // namespace

std::string ipc_address() { return "abstract://muster-bench-" + std::to_string(getpid()); }
std::string tcp_address() { return "tcp://127.0.0.1:0"; }

Socket::Socket() {
  nng_socket socket{};
  check(nng_pair0_open(&socket), "nng_pair0_open");
  id_ = socket.id;
  check(nng_socket_set_int(socket, NNG_OPT_SENDBUF, kQueue), "NNG_OPT_SENDBUF");
  check(nng_socket_set_int(socket, NNG_OPT_RECVBUF, kQueue), "NNG_OPT_RECVBUF");
  // Has no effect over ipc, which has nothing to delay.
  nng_socket_set_bool(socket, NNG_OPT_TCP_NODELAY, true);
}

Socket::~Socket() { nng_close({id_}); }

void Socket::listen(const std::string& address, Notice& bound) {
  nng_listener listener{};
  check(nng_listen({id_}, address.c_str(), &listener, 0), "nng_listen");
  nng_sockaddr actual{};
  check(nng_listener_get_addr(listener, NNG_OPT_LOCADDR, &actual), "NNG_OPT_LOCADDR");
  const bool tcp = actual.s_family == NNG_AF_INET;
  bound.post(tcp ? "tcp://127.0.0.1:" + std::to_string(ntohs(actual.s_in.sa_port)) : address);
}

void Socket::dial(const Notice& bound) {
  check(nng_dial({id_}, bound.wait().c_str(), nullptr, 0), "nng_dial");
}

void Socket::send(const void* data, std::size_t size) {
  check(nng_send({id_}, const_cast<void*>(data), size, 0), "nng_send");
}

void Socket::receive(void* data, std::size_t size) {
  std::size_t got = size;
  check(nng_recv({id_}, data, &got, 0), "nng_recv");
  if (got != size) fail("nng gave a message of the wrong size");
}

}  // namespace muster::bench::nng
