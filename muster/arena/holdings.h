// Holdings: what the other end of one link still reads in our memory.
//
// Pure. Kept in private memory, so that a peer can neither forge nor forget a
// reference for others: it only names handles, and when it goes all it held
// is let go.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::arena {

class Holdings {
 public:
  // Keeps `buffer` until its handle comes back. The low half of a handle is a
  // small number that is used again, the high half tells the uses apart; no
  // handle is zero.
  std::uint64_t add(Buffer buffer);

  // Lets go of what `handle` stands for. Code::invalid for a handle that is
  // not out, or no more: the peer is at fault.
  Status release(std::uint64_t handle);

  // Lets go of everything, as the link ends. Handles that were out stay
  // invalid.
  void clear();

  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Buffer buffer;
    std::uint32_t uses = 0;  // Odd while held.
    std::uint32_t next_free = 0;
  };

  Buffer let_go(std::uint32_t index);

  std::vector<Entry> entries_;
  std::uint32_t first_free_ = UINT32_MAX;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace muster::arena
