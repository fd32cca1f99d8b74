// RemoteBlock: a peer's block as a Buffer of this process.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "muster/arena/release_queue.h"
#include "muster/arena/segment.h"
#include "muster/arena/shared_block.h"
#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::arena {

// Belongs to its queue, but while Buffers are over it.
class RemoteBlock final : public SharedBlock {
 public:
  // Starts with one reference, which goes to the first Buffer.
  void hold(std::shared_ptr<Segment> segment, std::shared_ptr<ReleaseQueue> queue,
            std::uint64_t handle);

 private:
  friend class ReleaseQueue;

  void dispose() noexcept override;

  std::shared_ptr<ReleaseQueue> queue_;  // Only while Buffers are over it.
  std::uint64_t handle_ = 0;
  RemoteBlock* next_ = nullptr;
};

// `size` bytes from `offset` on in a peer's segment. When the last Buffer over
// them is let go, on any thread, `handle` goes to `queue`. Code::invalid if
// they are not all inside the segment; the handle then stays the caller's.
// One thread at a time per queue.
Result<Buffer> make_remote_buffer(std::shared_ptr<Segment> segment, std::uint64_t offset,
                                  std::uint64_t size, const std::shared_ptr<ReleaseQueue>& queue,
                                  std::uint64_t handle);

}  // namespace muster::arena
