// The seam between links and transports: a driver carries frames.
//
// Everything here happens under the loop's baton. A driver is asynchronous,
// keeps order per connection, bounds what it queues, and tells the end of a
// connection exactly once. Every driver passes net/testing/driver_suite.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/net/address.h"
#include "muster/wire/frame.h"

namespace muster::net {

// Parts from this size on are placed by the sink.
inline constexpr std::size_t kLargePart = std::size_t{64} << 10;

// Who hears from a connection. Must outlive it.
class Sink {
 public:
  // A whole frame. It may be moved from. Must not destroy the connection.
  virtual void on_frame(wire::Frame& frame) = 0;

  // Where shall this part's bytes go? Asked for each part of at least
  // kLargePart bytes that is not passed by reference, as soon as the head is
  // known. What is given must be of `size` bytes and becomes the frame's part.
  // The driver keeps it for as long as anybody may still write there, which
  // can be a little longer than the connection. Empty: the driver finds memory
  // itself. (A slice of a larger body: retain its owner once more and give
  // WritableBuffer(span, owner).)
  virtual WritableBuffer place(const wire::Head& head, std::size_t part, std::uint64_t size) = 0;

  // Asked after place(): does the other end lend this frame's parts? Then they are taken with
  // least work in large heaps.
  virtual bool is_lent(const wire::Head& /*head*/) const { return false; }

  // There is room again after a send() that said overloaded.
  virtual void on_room() = 0;

  // The last call, exactly once, never from inside send() or close(). The
  // connection may be destroyed here.
  virtual void on_closed(Error why) = 0;

 protected:
  ~Sink() = default;
};

// What a driver knows of the other end without being told by it.
struct Peer {
  std::string address;        // For people, such as "tcp://127.0.0.1:40312".
  bool is_same_host = false;  // Known to be, not merely possible.
  int pid = 0;                // From the kernel, else 0.
};

class Connection {
 public:
  virtual ~Connection() = default;  // Closes; its sink hears nothing more.

  // Queues one frame, in order. Code::overloaded when the queue is full: the
  // frame is then untouched, and on_room() follows. Works at once after
  // dial(): what is queued leaves when the connection stands. Parts are kept
  // until their bytes have left; letting go of them tells their owners.
  virtual Status send(wire::Frame& frame) = 0;

  // Memory for a body that the peer can read where it lies, if the driver has
  // such; else any memory.
  virtual Result<WritableBuffer> allocate(std::size_t size) = 0;

  // True if `part` travels by reference, whatever its size.
  virtual bool passes(const Buffer& part) const = 0;

  // As send(), for a frame of `head` and one part below kReferenceFrom. Both have been
  // copied when it returns.
  virtual Status send_copy(std::span<const std::byte, wire::kUsualHead> head,
                           std::span<const std::byte> part);

  // True where lend() spares a copy.
  virtual bool lends() const { return false; }

  // As send(), but the parts may be read where they lie when the peer takes them, however
  // late that is. Whoever lends changes nothing there, and lets nobody else, until the peer
  // has said that it has them; or ends the connection, and then the peer must not take for
  // whole what it has read.
  virtual Status lend(wire::Frame& frame) { return send(frame); }

  // The most bytes, of parts that do not pass by reference, in one frame.
  // Whoever has more sends several frames.
  virtual std::size_t max_body() const = 0;

  // Drops what is queued. on_closed(Code::cancelled) follows, later.
  virtual void close() = 0;

  virtual Peer peer() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;  // Stops; connections it accepted stay.
  // With all that was left open filled in, such as the port.
  virtual Address address() const = 0;
};

class Driver {
 public:
  // Gets a connection to keep, and says who hears from it.
  using Accept = std::function<Sink&(std::unique_ptr<Connection>)>;

  virtual ~Driver() = default;                  // After its listeners and connections.
  virtual std::string_view scheme() const = 0;  // "tcp" serves tcp://...
  virtual Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) = 0;
  // A connection that cannot be made ends by on_closed(Code::unavailable).
  virtual Result<std::unique_ptr<Connection>> dial(const Address& address, Sink& sink) = 0;
  // As a connection's, before there is any. Any thread, and better without the
  // baton: to make memory present that was not used before takes a while.
  virtual Result<WritableBuffer> allocate(std::size_t size) {
    return WritableBuffer::on_heap(size);
  }
};

}  // namespace muster::net
