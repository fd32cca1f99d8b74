#include "muster/arena/shared_block.h"

namespace muster::arena {
namespace {

// Its address is what all shared blocks have in common.
constexpr char kOrigin = 0;

}  // namespace

const void* SharedBlock::origin() const { return &kOrigin; }

const SharedBlock* SharedBlock::of(const Buffer& buffer) {
  const BufferOwner* owner = buffer.owner();
  if (owner == nullptr || owner->origin() != &kOrigin) return nullptr;
  return static_cast<const SharedBlock*>(owner);
}

}  // namespace muster::arena
