// Message: one part of what libzmq carries, and nothing that it copies.

#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "muster/base/buffer.h"

namespace muster::drivers::zmq {

// A signal says nothing about the peer: asks again, though not for ever, since in a forked child
// libzmq gives no other answer.
template <class Call>
int uninterrupted(Call call) {
  constexpr int kTries = 100;
  int result = -1;
  for (int i = 0; i < kTries; ++i) {
    result = call();
    if (result >= 0 || errno != EINTR) break;
  }
  return result;
}

class Message {
 public:
  Message();
  ~Message();
  Message(Message&& other) noexcept;
  Message& operator=(Message&& other) noexcept;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  // A copy of `bytes`.
  static Message copy_of(std::span<const std::byte> bytes);
  // The bytes where they lie; the buffer is let go, on a thread of libzmq's,
  // once they have left.
  static Message wrap(Buffer buffer);

  std::span<const std::byte> bytes() const;
  std::size_t size() const { return bytes().size(); }
  // True if further parts of the same message follow.
  bool has_more() const;
  // The descriptor that it came over, or -1.
  int descriptor() const;
  // The numeric address that it came from, or "".
  std::string origin() const;

  // The bytes where they lie, for as long as anybody needs them.
  Buffer into_buffer() &&;

  // As zmq_msg_send() and zmq_msg_recv() on `socket`, never waiting. False: errno
  // says why.
  bool send(void* socket, bool more);
  bool receive(void* socket);

 private:
  // libzmq's zmq_msg_t, which headers of ours do not name.
  struct alignas(void*) Raw {
    std::array<std::byte, 64> bytes;
  };
  class Owner;

  mutable Raw raw_;
};

}  // namespace muster::drivers::zmq
