#include "muster/drivers/tcp/write_queue.h"

#include <algorithm>
#include <cstring>

namespace muster::drivers::tcp {
namespace {

// Runs that have left are dropped from the vector in heaps of this size.
constexpr std::size_t kDropEvery = 64;
// An empty queue keeps room for no more runs than this.
constexpr std::size_t kKeptRuns = 64;

}  // namespace

static_assert(wire::kPrefixSize + wire::kPartSizeSize * wire::kMaxParts + wire::kMaxHead +
                      WriteQueue::kCopied <=
                  WriteQueue::kBlock,
              "whatever is staged in one piece fits into a block");

bool WriteQueue::push(wire::Frame& frame, bool lends) {
  const std::size_t prefix = wire::prefix_size(frame.parts.size());
  const std::size_t opening = prefix + frame.head.size();
  // Everything that is copied is staged in blocks of its own if need be; only
  // the first may be missing for want of memory, so that nothing is undone. A
  // single part that is copied goes there too: its memory may not be ours to keep.
  const bool is_copied = frame.parts.size() == 1 && frame.parts[0].size() <= kCopied;
  if (!reserve(opening + (is_copied ? frame.parts[0].size() : 0))) return false;
  std::byte* const at = stage(opening);
  wire::write_prefix(frame, {at, prefix});
  frame.head.copy_to(at + prefix);
  before_.assign(frame.head.bytes());
  for (Buffer& part : frame.parts) {
    if (part.empty()) continue;
    if (part.size() <= kCopied && reserve(part.size())) {
      std::memcpy(stage(part.size()), part.data(), part.size());
    } else {
      refer(std::move(part), lends);
    }
  }
  frame.parts.clear();
  return true;
}

// Sees to it that the next `size` bytes can be staged in one piece.
bool WriteQueue::reserve(std::size_t size) {
  if (block_.size() - used_ >= size) return true;
  WritableBuffer block = pool_.take(kBlock);
  if (block.size() < size) return false;
  block_ = std::move(block);
  used_ = 0;
  return true;
}

std::byte* WriteQueue::stage(std::size_t size) {
  std::byte* const at = block_.data() + used_;
  used_ += size;
  bytes_ += size;
  if (first_ < runs_.size() && runs_.back().data + runs_.back().size == at) {
    runs_.back().size += size;
  } else {
    block_.owner()->retain();
    runs_.push_back({at, size, Buffer({at, size}, block_.owner())});
  }
  return at;
}

void WriteQueue::refer(Buffer part, bool lends) {
  bytes_ += part.size();
  const std::byte* const data = part.data();
  const std::size_t size = part.size();
  runs_.push_back({data, size, std::move(part), lends});
}

std::size_t WriteQueue::gather(std::span<iovec> out) const {
  std::size_t used = 0;
  if (alone_begin_ < alone_end_) {
    out[used++] = {const_cast<std::byte*>(alone_.data()) + alone_begin_, alone_end_ - alone_begin_};
  }
  for (std::size_t i = first_; i < runs_.size() && used < out.size(); ++i) {
    if (runs_[i].is_lent && used > 0) break;
    out[used++] = {const_cast<std::byte*>(runs_[i].data), runs_[i].size};
    if (runs_[i].is_lent) break;
  }
  return used;
}

void WriteQueue::consume(std::size_t bytes) {
  bytes_ -= bytes;
  if (bytes_ == 0) return clear();
  const std::size_t alone = std::min(bytes, alone_end_ - alone_begin_);
  alone_begin_ += alone;
  bytes -= alone;
  while (bytes > 0) {
    Run& run = runs_[first_];
    if (bytes < run.size) {
      run.data += bytes;
      run.size -= bytes;
      break;
    }
    bytes -= run.size;
    run.keep = Buffer();
    ++first_;
  }
  forget_consumed();
}

void WriteQueue::forget_consumed() {
  if (first_ < kDropEvery || first_ < runs_.size() / 2) return;
  runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

void WriteQueue::clear() {
  alone_begin_ = alone_end_ = 0;
  bytes_ = 0;
  if (runs_.empty()) return;
  runs_.clear();
  if (runs_.capacity() > kKeptRuns) runs_.shrink_to_fit();
  first_ = 0;
  block_ = WritableBuffer();
  used_ = 0;
}

}  // namespace muster::drivers::tcp
