// WriteQueue: frames on their way out, as few long runs of bytes.
//
// Heads and small parts are copied side by side into staging memory; larger
// parts are referred to and let go when their last byte has left. An empty
// queue holds no staging memory. A small frame that finds the queue empty lies in
// the queue itself: most leave before another comes.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "muster/base/buffer.h"
#include "muster/base/buffer_pool.h"
#include "muster/wire/brief_frame.h"
#include "muster/wire/frame.h"
#include "muster/wire/small_frame.h"

namespace muster::drivers::tcp {

class WriteQueue {
 public:
  // Parts up to this size are copied: that costs less than to refer to them.
  static constexpr std::size_t kCopied = std::size_t{4} << 10;
  // Staging memory is taken in blocks of this size.
  static constexpr std::size_t kBlock = std::size_t{64} << 10;

  // The largest frame that is kept without any.
  static constexpr std::size_t kAlone = 256;

  explicit WriteQueue(BufferPool& pool) : pool_(pool) {}

  // Appends `frame` and takes its parts; those that are not copied are to be lent, if
  // `lends`. False, with the frame untouched, if there is no memory.
  bool push(wire::Frame& frame, bool lends = false);

  // Copies a frame of `head` and one part, which is not empty, if nothing else waits and it
  // is small enough.
  [[gnu::always_inline]] bool push_alone(std::span<const std::byte> head,
                                         std::span<const std::byte> part) {
    if (bytes_ != 0 || wire::prefix_size(1) + head.size() + part.size() > kAlone) return false;
    wire::write_small_frame(head, part, alone_.data());
    bytes_ = alone_end_ = wire::prefix_size(1) + head.size() + part.size();
    return true;
  }

  // Copies a frame of `head` and one part, which is not empty and of at most kCopied bytes,
  // if there is room for it beside what was staged last; as a brief one where that can be.
  [[gnu::always_inline]] bool push_beside(std::span<const std::byte> head,
                                          std::span<const std::byte> part) {
    std::size_t size = wire::prefix_size(1) + head.size() + part.size();
    if (first_ == runs_.size() || block_.size() - used_ < size) return false;
    std::byte* const at = block_.data() + used_;
    Run& last = runs_.back();
    if (last.data + last.size != at) return false;
    if (const std::size_t brief = wire::write_brief_frame(head, part, before_, at)) {
      size = brief;
    } else {
      wire::write_small_frame(head, part, at);
      before_.assign(head);
    }
    last.size += size;
    used_ += size;
    bytes_ += size;
    return true;
  }

  // Describes what comes next, oldest first; what is to be lent alone. Returns how many
  // of `out` it has used; they are valid until the next call of another function.
  std::size_t gather(std::span<iovec> out) const;
  // What comes next is to be lent.
  bool is_lent_next() const {
    return alone_begin_ == alone_end_ && first_ < runs_.size() && runs_[first_].is_lent;
  }

  // The first `bytes` have left.
  void consume(std::size_t bytes);

  // Lets go of everything.
  void clear();

  std::size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }

 private:
  // A run of bytes. `keep` holds the memory.
  struct Run {
    const std::byte* data;
    std::size_t size;
    Buffer keep;
    bool is_lent = false;
  };

  bool reserve(std::size_t size);
  std::byte* stage(std::size_t size);
  void refer(Buffer part, bool lends);
  void forget_consumed();

  BufferPool& pool_;
  std::vector<Run> runs_;
  std::size_t first_ = 0;  // The runs before it have left.
  std::size_t bytes_ = 0;
  wire::Head before_;     // Of the frame that was staged last.
  WritableBuffer block_;  // Where staging goes on.
  std::size_t used_ = 0;  // Of block_.
  // Goes before all runs.
  std::size_t alone_begin_ = 0;
  std::size_t alone_end_ = 0;
  std::array<std::byte, kAlone> alone_;
};

}  // namespace muster::drivers::tcp
