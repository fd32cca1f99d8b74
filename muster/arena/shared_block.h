// SharedBlock: the owner of any Buffer whose bytes lie in a segment.
//
// It makes no difference whose segment: what came from a peer is passed on by
// reference just as what was made here.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "muster/arena/segment.h"
#include "muster/base/buffer.h"

namespace muster::arena {

class SharedBlock : public BufferOwner {
 public:
  // The owner of `buffer` if its bytes lie in a segment, else null. Lives as
  // long as the buffer does.
  static const SharedBlock* of(const Buffer& buffer);

  // A buffer's place in it is `buffer.data() - segment()->base()`.
  const std::shared_ptr<Segment>& segment() const { return segment_; }

  const void* origin() const final;

 protected:
  SharedBlock() = default;
  explicit SharedBlock(std::shared_ptr<Segment> segment) : segment_(std::move(segment)) {}
  ~SharedBlock() = default;

  void set_segment(std::shared_ptr<Segment> segment) { segment_ = std::move(segment); }

 private:
  std::shared_ptr<Segment> segment_;
};

}  // namespace muster::arena
