// Arena: the memory of this process that its peers can read in place.
//
// A body made here is passed by reference to any number of receivers on this
// host. All bookkeeping is private memory: nothing that a peer can see, let
// alone write, decides what is free.

#pragma once

#include <cstddef>
#include <memory>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::arena {

// Blocks are powers of two, whole pages at least: so no two blocks share a
// page and it is known per page what was touched. Smaller bodies are better
// off in a ring, where they cost no reference and no release.
inline constexpr std::size_t kSmallestBlock = 4096;

struct ArenaOptions {
  // A power of two, from kSmallestBlock on. What is larger than this gets a
  // segment of its own. Too small costs descriptors; too large keeps memory
  // for one body that stays.
  std::size_t segment_size = std::size_t{64} << 20;
  // The most that all segments together may span, used or not.
  std::size_t limit = std::size_t{64} << 30;
  // Segments in which nothing is used are kept warm up to so many touched
  // bytes together; beyond, those idle for longest are given back.
  std::size_t idle_limit = std::size_t{1} << 30;
};

struct ArenaCounters {
  std::size_t blocks = 0;         // Handed out and not let go.
  std::size_t bytes_in_use = 0;   // What those blocks span.
  std::size_t bytes_touched = 0;  // Used or warm: what the machine pays for.
  std::size_t bytes_mapped = 0;   // What the limit is held against.
  std::size_t segments = 0;
};

class BlockPool;

class Arena {
 public:
  // Costs next to nothing: no segment is made before the first allocate().
  // Code::invalid if the options make no sense.
  static Result<std::unique_ptr<Arena>> make(ArenaOptions options = {});

  // Blocks in use outlive the arena; their memory goes with the last of them.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Any thread. Exactly `size` bytes, uninitialised, with pages that are
  // already present; what was let go last is handed out first. They may be
  // let go on any thread. Code::overloaded at the limit, or if the system has
  // no memory; Code::invalid in a forked child of the process that made the arena.
  Result<WritableBuffer> allocate(std::size_t size);

  // Any thread.
  ArenaCounters counters() const;

 private:
  explicit Arena(std::shared_ptr<BlockPool> pool);

  std::shared_ptr<BlockPool> pool_;  // Outlives the arena while its blocks do.
};

}  // namespace muster::arena
