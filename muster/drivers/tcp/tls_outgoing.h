// TlsOutgoing: encrypted bytes on their way into a socket, many records with one
// system call. Never blocks, never raises SIGPIPE.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace muster::drivers::tcp {

// Bytes that are encrypted before they are sent: few enough that they stay in
// the cache, many enough that the system calls do not show.
inline constexpr std::size_t kTlsBatch = std::size_t{256} << 10;

// Lent to one stream at a time and empty in between: what a stream has encrypted and
// not yet tried to send.
class Gathered {
 public:
  // Where the next bytes may be written, up to `size`; add() says how many were.
  std::byte* room(std::size_t size) {
    if (bytes_.size() < used_ + size) bytes_.resize(used_ + size);
    return bytes_.data() + used_;
  }
  void add(std::size_t size) { used_ += size; }

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(used_); }
  void clear() { used_ = 0; }

 private:
  std::vector<std::byte> bytes_;  // As many as were ever needed, so that none is set twice.
  std::size_t used_ = 0;
};

class TlsOutgoing {
 public:
  TlsOutgoing(int socket, Gathered& gathered) : socket_(socket), gathered_(gathered) {}

  Gathered& gathered() { return gathered_; }

  // Sends what was gathered. What the socket does not take stays here. False if
  // it failed for good; error() says why.
  bool flush();
  bool has_unsent() const { return !unsent_.empty(); }
  int error() const { return error_; }  // Of the socket, or 0.

 private:
  std::size_t send_some(std::span<const std::byte> bytes);

  int socket_;
  Gathered& gathered_;
  std::vector<std::byte> unsent_;
  std::size_t sent_ = 0;  // Of unsent_.
  int error_ = 0;
};

}  // namespace muster::drivers::tcp
