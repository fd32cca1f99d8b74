// BufferPool: memory for bodies that is touched once and used many times.
//
// A page that is touched for the first time costs more than copying its
// content several times over, so what was let go is kept and handed out again.

#pragma once

#include <cstddef>

#include "muster/base/buffer.h"
#include "muster/base/small_block.h"

namespace muster {

class BufferPool {
 public:
  // Keeps at most about `idle_limit` bytes that nobody uses.
  explicit BufferPool(std::size_t idle_limit = std::size_t{256} << 20);
  // Buffers may outlive the pool; their memory is then freed as they go.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Uninitialised memory of exactly `size` bytes. One thread at a time; what
  // it gives may be let go on any thread. Empty if the system has no memory.
  WritableBuffer take(std::size_t size) {
    return size <= kSmallBlock ? take_small_block(size) : take_large(size);
  }

  // Bytes that lie idle, for tests and metrics.
  std::size_t idle() const;

 private:
  WritableBuffer take_large(std::size_t size);

  struct Shared;
  class Block;
  Shared* shared_;  // Outlives the pool while its blocks do.
};

}  // namespace muster
