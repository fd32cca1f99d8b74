// BlockPool: hands out the blocks of an arena's segments and takes them back.
//
// Blocks that were let go wait in a stack per size, touched and undivided, and
// the newest is handed out first. Only when a stack is empty are the waiting
// blocks joined with their neighbours, and only when that gives nothing either
// is a new segment made.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "muster/arena/arena.h"
#include "muster/arena/region.h"
#include "muster/arena/shared_block.h"
#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::arena {

class BlockPool final : public std::enable_shared_from_this<BlockPool> {
 public:
  explicit BlockPool(const ArenaOptions& options) : options_(options) {}

  // Any thread.
  Result<WritableBuffer> allocate(std::size_t size);

  // Any thread. From here on nothing is kept that nobody uses.
  void close();

  // Any thread.
  ArenaCounters counters() const;

 private:
  class Block final : public SharedBlock {
   public:
    Region* region = nullptr;
    std::size_t offset = 0;
    int order = 0;
    std::size_t touched = 0;          // Bytes from the start known to be present.
    Block* next = nullptr;            // In the list that it waits in.
    std::shared_ptr<BlockPool> pool;  // Only while handed out.

    void place(Region& in, std::size_t at, int of_order);
    void start() { reset_references(); }
    void leave();

   private:
    void dispose() noexcept override;
  };
  using Segments = std::vector<std::shared_ptr<Segment>>;

  static constexpr int kOrders = 48;

  // These need the lock. What they add to `gone` is to be destroyed without
  // it: unmapping takes its time.
  Result<Block*> take(int order, Segments& gone);
  Block* take_waiting(int order);
  Block* carve(int order);
  Result<Region*> add_region(int order, Segments& gone);
  void settle();
  void give_back(Block& block, Segments& gone);
  void begin_use(Block& block);
  void trim(std::size_t idle_limit, Segments& gone);
  void drop(std::size_t index, Segments& gone);

  // Takes the lock itself.
  void recycle(Block& block);
  Status touch(Block& block, std::size_t size);

  // A forked child has the segments too, and a copy of this that knows nothing of
  // what its parent does with them.
  bool is_this_process() const { return getpid() == process_; }

  const ArenaOptions options_;
  const pid_t process_ = getpid();
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::vector<std::unique_ptr<Region>> regions_;  // Oldest first.
  std::array<Block*, kOrders> waiting_{};         // By order, newest first.
  Block* spare_ = nullptr;                        // Blocks that stand for nothing.
  std::deque<Block> blocks_;                      // All there are.
  std::size_t idle_touched_ = 0;                  // In regions without a block in use.
  std::uint64_t releases_ = 0;
  ArenaCounters counters_;
};

}  // namespace muster::arena
