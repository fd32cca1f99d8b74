// Gathering: holds back what a sender writes in quick succession, so that it is
// written together.

#pragma once

#include <cstddef>

#include "muster/loop/loop.h"
#include "muster/net/write_gate.h"

namespace muster::net {

// `Writer` has something to write, and may be told to write it later.
template <class Writer>
class Gathering final : private loop::Flusher {
 public:
  using Write = void (Writer::*)();

  // Calls `write` for what was held back, soon, and once. With `batch` bytes there is
  // enough of it.
  Gathering(loop::Loop& loop, Writer& writer, Write write, std::size_t batch = WriteGate::kBatch)
      : loop_(loop), writer_(writer), write_(write), batch_(batch) {}
  ~Gathering() { stop(); }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  // Something new waits, `waiting` bytes in all. True: the caller writes all of
  // it now. False: it is held back.
  bool may_write(std::size_t waiting) {
    if (gate_.is_holding()) {
      if (holds(waiting)) return false;
      release();
      return true;
    }
    if (gate_.answers() || gate_.may_write(loop_.now())) return true;
    loop_.flush_soon(*this);
    return false;
  }

  // What was held back is written by the caller, now.
  void release() {
    if (!gate_.is_holding()) return;
    gate_.release(loop_.now());
    loop_.take_back(*this);
  }

  // Something new waits, `waiting` bytes in all, and need not even be asked for:
  // it is held back like what is before it.
  bool holds(std::size_t waiting) const { return gate_.is_holding() && waiting < batch_; }

  // The peer has sent something.
  void was_read() { gate_.was_read(); }

  // Nothing is written any more.
  void stop() { loop_.forget(*this); }

 private:
  void flush() override {
    if (!gate_.is_holding()) return;
    gate_.release(loop_.now());
    (writer_.*write_)();
  }

  loop::Loop& loop_;
  Writer& writer_;
  Write write_;
  std::size_t batch_;
  WriteGate gate_;
};

}  // namespace muster::net
