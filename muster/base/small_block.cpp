#include "muster/base/small_block.h"

namespace muster::internal {

void SmallBlock::dispose() noexcept {
  const std::uint32_t which = which_;
  this->~SmallBlock();
  give_spare(this, which);
}

}  // namespace muster::internal
