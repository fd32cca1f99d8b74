#include "muster/drivers/shm/direct.h"

#include <algorithm>
#include <cerrno>

#include <sys/uio.h>

#include "muster/base/crash_point.h"

namespace muster::drivers::shm {
namespace {

std::size_t piece_size(std::uint64_t size, std::uint32_t piece) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - piece * kPiece));
}

// The next piece to copy, or `count` if none is left. A hostile peer may have
// put any number there.
std::uint32_t take_piece(DirectCell& cell, std::uint32_t count) {
  if (cell.taken.load(std::memory_order_relaxed) >= count) return count;
  const std::uint32_t piece = cell.taken.fetch_add(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  return std::min(piece, count);
}

Error out_of_reach(const char* what, int number) {
  return system_error(Code::unavailable, what, number);
}

}  // namespace

DirectOffer::DirectOffer(DirectCell& cell, Buffer part) : cell_(&cell), part_(std::move(part)) {
  cell.target.store(0, std::memory_order_relaxed);
  cell.taken.store(0, std::memory_order_relaxed);
  cell.finished.store(0, std::memory_order_relaxed);
  cell.is_done.store(0, std::memory_order_relaxed);
  cell.is_withdrawn.store(0, std::memory_order_relaxed);
  MUSTER_CRASH_POINT();
}

bool DirectOffer::is_exhausted() const {
  return cell_->taken.load(std::memory_order_relaxed) >= piece_count(part_.size());
}

Result<bool> DirectOffer::help(pid_t reader) {
  const std::uint64_t target = cell_->target.load(std::memory_order_acquire);
  if (target == 0) return false;
  const std::uint32_t count = piece_count(part_.size());
  const std::uint32_t piece = take_piece(*cell_, count);
  if (piece == count) return false;
  const std::size_t size = piece_size(part_.size(), piece);
  const std::uint64_t offset = std::uint64_t{piece} * kPiece;
  iovec here{const_cast<std::byte*>(part_.data()) + offset, size};
  iovec there{reinterpret_cast<void*>(target + offset), size};
  if (process_vm_writev(reader, &here, 1, &there, 1, 0) != static_cast<ssize_t>(size)) {
    return out_of_reach("write into the peer's memory", errno);
  }
  cell_->finished.fetch_add(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  return true;
}

void DirectOffer::withdraw() {
  cell_->is_withdrawn.exchange(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
}

DirectFetch::DirectFetch(DirectCell& cell, std::uint64_t source, std::byte* target,
                         std::uint64_t size)
    : cell_(&cell), source_(source), target_(target), size_(size) {
  cell.target.store(reinterpret_cast<std::uint64_t>(target), std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
}

Result<bool> DirectFetch::fetch(pid_t writer) {
  const std::uint32_t count = piece_count(size_);
  const std::uint32_t piece = take_piece(*cell_, count);
  if (piece == count) return false;
  const std::size_t size = piece_size(size_, piece);
  const std::uint64_t offset = std::uint64_t{piece} * kPiece;
  iovec here{target_ + offset, size};
  iovec there{reinterpret_cast<void*>(source_ + offset), size};
  if (process_vm_readv(writer, &here, 1, &there, 1, 0) != static_cast<ssize_t>(size)) {
    return out_of_reach("read from the peer's memory", errno);
  }
  ++fetched_;
  return true;
}

bool DirectFetch::is_complete() const {
  return fetched_ + cell_->finished.load(std::memory_order_acquire) >= piece_count(size_);
}

bool DirectFetch::finish() {
  const bool is_good = cell_->is_withdrawn.load(std::memory_order_seq_cst) == 0;
  cell_->is_done.store(1, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  return is_good;
}

bool DirectFetch::abandon() {
  const std::uint32_t count = piece_count(size_);
  const std::uint32_t taken =
      std::min(cell_->taken.exchange(count, std::memory_order_seq_cst), count);
  return cell_->finished.load(std::memory_order_acquire) + fetched_ < taken;
}

}  // namespace muster::drivers::shm
