#include "muster/arena/remote_block.h"

#include <utility>

namespace muster::arena {

void RemoteBlock::hold(std::shared_ptr<Segment> segment, std::shared_ptr<ReleaseQueue> queue,
                       std::uint64_t handle) {
  reset_references();
  set_segment(std::move(segment));
  queue_ = std::move(queue);
  handle_ = handle;
}

void RemoteBlock::dispose() noexcept {
  // Kept here meanwhile: once pushed, this block may be in use again.
  const std::shared_ptr<ReleaseQueue> queue = std::move(queue_);
  set_segment(nullptr);
  queue->push(this);
}

Result<Buffer> make_remote_buffer(std::shared_ptr<Segment> segment, std::uint64_t offset,
                                  std::uint64_t size, const std::shared_ptr<ReleaseQueue>& queue,
                                  std::uint64_t handle) {
  if (offset > segment->size() || size > segment->size() - offset) {
    return Error(Code::invalid, "a peer's block is not inside its segment");
  }
  const std::span<const std::byte> bytes = segment->bytes().subspan(offset, size);
  RemoteBlock* const block = queue->spare();
  block->hold(std::move(segment), queue, handle);
  return Buffer(bytes, block);
}

}  // namespace muster::arena
