#include "muster/wire/parts.h"

namespace muster::wire {

void Parts::grow() {
  std::allocator<Buffer> memory;
  const std::size_t room = 2 * room_;
  Buffer* const made = memory.allocate(room);
  std::uninitialized_move_n(first_, count_, made);
  std::destroy_n(first_, count_);
  if (!is_inline()) memory.deallocate(first_, room_);
  first_ = made;
  room_ = room;
}

}  // namespace muster::wire
