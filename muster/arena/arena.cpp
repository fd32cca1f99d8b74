#include "muster/arena/arena.h"

#include <bit>
#include <utility>

#include "muster/arena/block_pool.h"

namespace muster::arena {

Result<std::unique_ptr<Arena>> Arena::make(ArenaOptions options) {
  if (!std::has_single_bit(options.segment_size) || options.segment_size < kSmallestBlock) {
    return Error(Code::invalid, "an arena's segment size is a power of two, 4 KiB at least");
  }
  return std::unique_ptr<Arena>(new Arena(std::make_shared<BlockPool>(options)));
}

Arena::Arena(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {}

Arena::~Arena() { pool_->close(); }

Result<WritableBuffer> Arena::allocate(std::size_t size) { return pool_->allocate(size); }

ArenaCounters Arena::counters() const { return pool_->counters(); }

}  // namespace muster::arena
