// Socket: a socket of libzmq's. Never blocks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/drivers/zmq/message.h"
#include "muster/drivers/zmq/packet.h"

namespace muster::drivers::zmq {

enum class Sent : std::uint8_t {
  all,
  full,  // Nothing of it. There will be room, or the peer is about to be gone.
  gone,  // Nothing of it, and nothing ever will.
};

class Socket {
 public:
  // `type` as for zmq_socket(). The context outlives it. Without one if the
  // process has no descriptor left: is_open() tells.
  Socket(void* context, int type);
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool is_open() const { return socket_ != nullptr; }
  // Gives up at once, or after letting out, for that long, what it was given.
  void close(int linger_ms = 0);

  void set(int option, int value);
  void set(int option, std::span<const std::byte> value);
  Status bind(const std::string& endpoint);
  Status connect(const std::string& endpoint);
  // Where it was bound or connected last.
  std::string endpoint() const;

  // Readable when libzmq has news for the socket. Whatever is asked of the socket
  // takes them, so whoever asks looks at all of readiness() afterwards.
  int descriptor() const;

  struct Readiness {
    bool to_read = false;
    bool to_write = false;  // To somebody, if there are several.
  };
  Readiness readiness() const;

  // To the peer of that name, or to the only one if it is empty. Takes the
  // packet's parts if all of it went.
  Sent send(Packet& packet, std::span<const std::byte> to = {});

  // The parts of one message; empty if there is none. Of a message with far too
  // many parts only the first.
  bool receive(std::vector<Message>& parts);

  void* get() const { return socket_; }

 private:
  void* socket_;
};

}  // namespace muster::drivers::zmq
