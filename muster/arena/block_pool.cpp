#include "muster/arena/block_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster::arena {
namespace {

std::size_t size_of(int order) { return kSmallestBlock << order; }

// The smallest order whose blocks hold `size` bytes.
int order_for(std::size_t size) {
  return static_cast<int>(std::bit_width((std::max(size, std::size_t{1}) - 1) / kSmallestBlock));
}

Error no_room() { return {Code::overloaded, "the arena's limit is reached"}; }

}  // namespace

void BlockPool::Block::place(Region& in, std::size_t at, int of_order) {
  set_segment(in.segment());
  region = &in;
  offset = at;
  order = of_order;
  touched = in.touched_from(at, size_of(of_order));
}

void BlockPool::Block::leave() {
  set_segment(nullptr);
  region = nullptr;
}

void BlockPool::Block::dispose() noexcept {
  // Kept here meanwhile: the pool holds this block, which may be the last that
  // holds the pool.
  const std::shared_ptr<BlockPool> keep = std::move(pool);
  if (keep->is_this_process()) keep->recycle(*this);
}

Result<WritableBuffer> BlockPool::allocate(std::size_t size) {
  const int order = order_for(size);
  if (order >= kOrders) return no_room();
  if (!is_this_process()) {
    return Error(Code::invalid, "an arena cannot be used in a child of its process");
  }
  Segments gone;
  Block* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    MUSTER_TRY(block, take(order, gone));
    begin_use(*block);
  }
  block->start();
  block->pool = shared_from_this();
  WritableBuffer buffer(block->segment()->writable().subspan(block->offset, size), block);
  if (size > block->touched) MUSTER_TRY_OK(touch(*block, size));
  return buffer;
}

Result<BlockPool::Block*> BlockPool::take(int order, Segments& gone) {
  if (Block* block = take_waiting(order)) return block;
  settle();
  if (Block* block = carve(order)) return block;
  MUSTER_TRY_OK(add_region(order, gone));
  return carve(order);
}

BlockPool::Block* BlockPool::take_waiting(int order) {
  Block* block = waiting_[order];
  if (block != nullptr) waiting_[order] = block->next;
  return block;
}

BlockPool::Block* BlockPool::carve(int order) {
  for (const std::unique_ptr<Region>& region : regions_) {
    const std::optional<std::size_t> offset = region->take(size_of(order));
    if (!offset) continue;
    if (spare_ == nullptr) spare_ = &blocks_.emplace_back();
    Block* const block = std::exchange(spare_, spare_->next);
    block->place(*region, *offset, order);
    return block;
  }
  return nullptr;
}

Result<Region*> BlockPool::add_region(int order, Segments& gone) {
  const std::size_t size = std::max(size_of(order), options_.segment_size);
  if (size > options_.limit) return no_room();
  if (counters_.bytes_mapped + size > options_.limit) trim(0, gone);
  if (counters_.bytes_mapped + size > options_.limit) return no_room();
  MUSTER_TRY(std::shared_ptr<Segment> segment, Segment::create(size));
  // A segment made for one large body serves only such: a small one would keep
  // it from the next.
  const std::size_t smallest = size > options_.segment_size ? size : kSmallestBlock;
  regions_.push_back(std::make_unique<Region>(std::move(segment), smallest));
  counters_.bytes_mapped += size;
  ++counters_.segments;
  return regions_.back().get();
}

// Gives all waiting blocks back to their regions, where they join.
void BlockPool::settle() {
  for (Block*& list : waiting_) {
    while (list != nullptr) {
      Block* const block = std::exchange(list, list->next);
      block->region->give(block->offset, size_of(block->order));
      block->leave();
      block->next = std::exchange(spare_, block);
    }
  }
}

void BlockPool::begin_use(Block& block) {
  Region& region = *block.region;
  if (region.blocks_in_use++ == 0) idle_touched_ -= region.touched();
  ++counters_.blocks;
  counters_.bytes_in_use += size_of(block.order);
}

Status BlockPool::touch(Block& block, std::size_t size) {
  // Not under the lock: for a large block this takes long. Nobody else looks
  // at these pages while the block is handed out.
  MUSTER_TRY_OK(block.segment()->populate(block.offset + block.touched, size - block.touched));
  const std::lock_guard lock(mutex_);
  const std::size_t before = block.region->touched();
  block.region->mark_touched(block.offset, size);
  counters_.bytes_touched += block.region->touched() - before;
  block.touched = size;
  return ok();
}

void BlockPool::recycle(Block& block) {
  Segments gone;
  const std::lock_guard lock(mutex_);
  give_back(block, gone);
}

void BlockPool::give_back(Block& block, Segments& gone) {
  Region& region = *block.region;
  block.next = std::exchange(waiting_[block.order], &block);
  --counters_.blocks;
  counters_.bytes_in_use -= size_of(block.order);
  ++releases_;
  if (--region.blocks_in_use != 0) return;
  region.idle_since = releases_;
  idle_touched_ += region.touched();
  if (closed_ || idle_touched_ > options_.idle_limit) trim(closed_ ? 0 : options_.idle_limit, gone);
}

// Drops regions that nobody uses, idle for longest first.
void BlockPool::trim(std::size_t idle_limit, Segments& gone) {
  settle();
  while (idle_touched_ > idle_limit || idle_limit == 0) {
    std::size_t oldest = regions_.size();
    for (std::size_t index = 0; index < regions_.size(); ++index) {
      if (regions_[index]->blocks_in_use != 0) continue;
      if (oldest == regions_.size() || regions_[index]->idle_since < regions_[oldest]->idle_since) {
        oldest = index;
      }
    }
    if (oldest == regions_.size()) return;
    drop(oldest, gone);
  }
}

void BlockPool::drop(std::size_t index, Segments& gone) {
  const Region& region = *regions_[index];
  idle_touched_ -= region.touched();
  counters_.bytes_touched -= region.touched();
  counters_.bytes_mapped -= region.segment()->size();
  --counters_.segments;
  gone.push_back(region.segment());
  regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(index));
}

void BlockPool::close() {
  Segments gone;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  trim(0, gone);
}

ArenaCounters BlockPool::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace muster::arena
