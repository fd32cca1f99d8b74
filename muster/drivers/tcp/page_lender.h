// PageLender: puts memory itself into a socket instead of a copy, by way of a pipe.
//
// What the socket's peer has not read yet lies where it lay, so it must stay as it is.

#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/uio.h>

#include "muster/base/descriptor.h"

namespace muster::drivers::tcp {

// What the system calls of one lending have done.
struct Lent {
  enum class Refusal : std::uint8_t {
    none,
    now,     // For want of a pipe, or of memory that can be lent.
    always,  // To this process.
  };
  std::size_t bytes = 0;            // That are in the socket.
  int error = 0;                    // Of the socket, which takes no more; EAGAIN: just now.
  Refusal refusal = Refusal::none;  // Nothing more is in the pipe then.
};

// A pipe of which both ends are here.
class Pipe {
 public:
  Pipe() = default;
  // One without ends if the system has none to give, or only a tiny one.
  static Pipe make();

  bool is_made() const { return static_cast<bool>(in_); }
  int in() const { return in_.get(); }
  int out() const { return out_.get(); }

 private:
  Descriptor in_;
  Descriptor out_;
};

// Where an empty pipe lies that nobody uses just now: seldom more than one is needed at once,
// and all of a user's count together.
class PipeShelf {
 public:
  Pipe take();
  void give_back(Pipe pipe);

 private:
  Pipe kept_;
};

class PageLender {
 public:
  explicit PageLender(PipeShelf& shelf) : shelf_(shelf) {}

  // As much of `from` as the socket, which does not block, takes. Called again, it is given what
  // has not left, and at least as much as before.
  Lent lend(int socket, const iovec& from);

 private:
  bool fill(const iovec& from);
  void drain(int socket, Lent& lent);
  void refuse(Lent& lent);

  PipeShelf& shelf_;
  Pipe pipe_;               // While there is something in it:
  std::size_t inside_ = 0;  // so much, the first bytes of what comes next.
};

}  // namespace muster::drivers::tcp
