// Stream: the bytes of one connection, between the socket and the frames.
//
// A plain socket is one, an encrypted one another. Never blocks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <sys/uio.h>

#include "muster/base/error.h"

namespace muster::drivers::tcp {

struct Transfer {
  enum class State : std::uint8_t {
    moved,    // `bytes` of them, at least one.
    blocked,  // Nothing just now.
    ended,    // Nothing will come any more. Only of read().
    failed,   // failure() says why.
  };
  State state = State::blocked;
  std::size_t bytes = 0;
};

// The most bytes of parts in one frame: little enough that others overtake a
// large body soon, enough that the system calls do not show.
inline constexpr std::size_t kFarBody = std::size_t{256} << 10;
// Over loopback a reader that stays in the system for longer also takes over
// what the sender's processor would do for each packet.
inline constexpr std::size_t kNearBody = std::size_t{1} << 20;

class Stream {
 public:
  enum class Handshake : std::uint8_t { done, wants_read, wants_write, failed };

  virtual ~Stream() = default;  // Closes.

  // Goes on with what must be settled before bytes may flow. Called again
  // when the socket is ready for what was wanted, until it is done.
  virtual Handshake handshake() = 0;

  // What moves the bytes from then on, in place of this, which has nothing left to do;
  // nullptr if this does it itself.
  virtual std::unique_ptr<Stream> successor() { return nullptr; }

  // Into, or from, the given memory in order. Less than asked means that a
  // further call would most likely find it blocked.
  virtual Transfer read(std::span<const iovec> into) = 0;
  virtual Transfer write(std::span<const iovec> from) = 0;

  // True where lend() spares a copy.
  virtual bool lends() const { return false; }
  // As write(), but the peer may read `from` where it lies, when it takes it. Called again with
  // the rest before anything else is written.
  virtual Transfer lend(const iovec& from) { return write({&from, 1}); }

  // True if a further read() would find something that the socket, being
  // empty, does not tell of.
  virtual bool has_more() const { return false; }

  // Why the last call failed.
  virtual Error failure() const = 0;

  // Of a frame that is sent.
  virtual std::size_t max_body() const { return kFarBody; }

  // To be watched for readiness.
  virtual int descriptor() const = 0;
};

}  // namespace muster::drivers::tcp
