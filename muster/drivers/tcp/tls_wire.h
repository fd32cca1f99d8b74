// TlsWire: the socket as OpenSSL sees it. Never blocks, never raises SIGPIPE.
//
// What OpenSSL writes is gathered and sent by flush(), many records with one
// system call. It reads a record in two steps, its length first: the bytes behind
// what it asks for are read along, so that a step costs no system call. Once the
// socket was found empty it is not asked again until start_reading().

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "muster/drivers/tcp/tls_outgoing.h"

struct bio_st;  // OpenSSL's BIO.

namespace muster::drivers::tcp {

class TlsWire {
 public:
  // Takes over `socket`.
  TlsWire(int socket, Gathered& gathered);
  ~TlsWire();  // Closes.
  TlsWire(const TlsWire&) = delete;
  TlsWire& operator=(const TlsWire&) = delete;

  // For OpenSSL, which takes a reference of its own. Not used after the wire.
  bio_st* bio() { return bio_; }

  void start_reading() { is_drained_ = false; }
  // Bytes that were read along wait here.
  bool has_ahead() const { return ahead_from_ < ahead_to_; }
  std::span<const std::byte> ahead() const {
    return std::span(ahead_).subspan(ahead_from_, ahead_to_ - ahead_from_);
  }
  // Nothing waits here, nor in the socket when it was last asked.
  bool is_drained() const { return is_drained_ && !has_ahead(); }

  // Sends what OpenSSL wrote. What the socket does not take stays here. False if
  // it failed for good; error() says why.
  bool flush() { return outgoing_.flush(); }
  bool has_unsent() const { return outgoing_.has_unsent(); }

  bool has_ended() const { return has_ended_; }  // The peer sends no more.
  int error() const { return outgoing_.error() != 0 ? outgoing_.error() : error_; }
  int socket() const { return socket_; }
  // Somebody else closes it then.
  int give_up_socket() { return std::exchange(socket_, -1); }

 private:
  struct Method;

  int read(char* into, int size);
  int read_along(char* into, std::size_t size);
  int write(const char* from, int size);
  long control(int command, long number, void* pointer);

  int socket_;
  TlsOutgoing outgoing_;
  bio_st* bio_;
  bio_st* kernel_;  // What the kernel's TLS is switched on by.
  std::array<std::byte, 1024> ahead_;
  std::size_t ahead_from_ = 0;
  std::size_t ahead_to_ = 0;
  int error_ = 0;  // Of reading.
  bool is_drained_ = false;
  bool has_ended_ = false;
  bool uses_kernel_ = false;      // It encrypts or decrypts, or both.
  bool is_control_next_ = false;  // What is written next is no data.
};

}  // namespace muster::drivers::tcp
