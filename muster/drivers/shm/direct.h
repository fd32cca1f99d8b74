// Direct copies: a body goes from one process's memory into another's with both
// of them copying, piece by piece.
//
// The writer of a ring offers a range of its memory in a cell of the ring's
// header. The reader puts in where the bytes shall go; from then on each side
// takes the next piece from the cell's counter and copies it, the reader with
// process_vm_readv, the writer with process_vm_writev. A wrong word in a cell
// can spoil the bytes of this body, which its sender could do anyway; all
// addresses that a side uses are its own, or in the other's memory.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::drivers::shm {

inline constexpr std::size_t kPiece = std::size_t{256} << 10;
inline constexpr std::size_t kDirectCells = 8;
inline constexpr std::size_t kDirectCellsOffset = 512;  // In the ring's first page.

struct alignas(64) DirectCell {
  std::atomic<std::uint64_t> target{0};    // In the reader's memory; 0: not known yet.
  std::atomic<std::uint32_t> taken{0};     // Pieces that somebody copies or has copied.
  std::atomic<std::uint32_t> finished{0};  // Pieces that the writer has copied.
  std::atomic<std::uint32_t> is_done{0};   // The reader has it all.
  // The writer has let go of the memory: what was read since may be anything.
  std::atomic<std::uint32_t> is_withdrawn{0};
};

inline std::uint32_t piece_count(std::uint64_t size) {
  return static_cast<std::uint32_t>((size + kPiece - 1) / kPiece);
}

// The writer's half.
class DirectOffer {
 public:
  // Resets `cell`, which outlives the offer.
  DirectOffer(DirectCell& cell, Buffer part);

  // True if the reader has said where, and a piece is left to take.
  bool can_help() const {
    return cell_->target.load(std::memory_order_relaxed) != 0 && !is_exhausted();
  }
  // Copies one piece if there is one to take. True if it did, or if the cell
  // is done with; the reader is to be rung after the last piece. An error
  // means that the peer's memory is out of reach.
  Result<bool> help(pid_t reader);
  bool is_done() const { return cell_->is_done.load(std::memory_order_acquire) != 0; }
  // No piece is left to take: the reader may be waiting for ours.
  bool is_exhausted() const;
  // To be called before the part is let go of while the reader may still read.
  void withdraw();

 private:
  DirectCell* cell_;
  Buffer part_;
};

// The reader's half.
class DirectFetch {
 public:
  DirectFetch(DirectCell& cell, std::uint64_t source, std::byte* target, std::uint64_t size);

  // True if a piece is left to take.
  bool can_fetch() const {
    return cell_->taken.load(std::memory_order_relaxed) < piece_count(size_);
  }
  // Copies one piece if there is one to take; false if not.
  Result<bool> fetch(pid_t writer);
  // All bytes are there, by whoever copied them.
  bool is_complete() const;
  // Lets the writer go. False if the writer had let go of the memory before,
  // so that the bytes are worth nothing.
  bool finish();
  // Gives up: takes what pieces are left, so that the writer starts no more.
  // True if one that it has started may still be written.
  bool abandon();

 private:
  DirectCell* cell_;
  std::uint64_t source_;
  std::byte* target_;
  std::uint64_t size_;
  std::uint32_t fetched_ = 0;
};

}  // namespace muster::drivers::shm
