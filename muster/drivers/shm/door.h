// Doors: how a process that sleeps is told which of its links has something.
//
// Each process has one page that all its peers map: a word that says it is
// asleep, and a bit per link. A peer sets its bit and then, only if the word
// says so, writes the process's wake descriptor. A process with a thousand
// links looks at one word, not at a thousand rings.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "muster/base/result.h"
#include "muster/drivers/shm/memory.h"
#include "muster/loop/doorbell.h"

namespace muster::drivers::shm {

struct DoorPage {
  static constexpr std::size_t kWords = 64;

  alignas(64) loop::Doorbell bell;
  alignas(64) std::atomic<std::uint64_t> summary{0};  // A bit per word of `ready`.
  alignas(64) std::atomic<std::uint64_t> ready[kWords]{};
};
inline constexpr std::size_t kDoorSize = 4096;
static_assert(sizeof(DoorPage) <= kDoorSize);

// A process's own door.
class Door {
 public:
  static Result<std::unique_ptr<Door>> make();

  // A bit for one more link. Code::overloaded when all are taken.
  Result<std::uint32_t> take_slot();
  void free_slot(std::uint32_t slot);

  bool has_rung() const { return page().summary.load(std::memory_order_seq_cst) != 0; }
  // Calls `visit` with each slot that was rung since.
  void answer(const std::function<void(std::uint32_t)>& visit);

  // From now on peers write the wake descriptor. The caller looks again.
  void park() { page().bell.arm(); }
  void unpark() { page().bell.disarm(); }

  int descriptor() const { return descriptor_.get(); }

 private:
  Door(Memory memory, Descriptor descriptor)
      : memory_(std::move(memory)), descriptor_(std::move(descriptor)) {}
  DoorPage& page() const { return *std::launder(reinterpret_cast<DoorPage*>(memory_.data())); }

  Memory memory_;  // Zeroed memory is a door where nobody has rung.
  Descriptor descriptor_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

// A peer's door, as this process sees it.
class PeerDoor {
 public:
  // Maps `door` and takes over both descriptors. Refuses what is not a sealed
  // page and an eventfd: others could end or block this process.
  static Result<PeerDoor> open(int door, int wake, std::uint32_t slot);

  // Tells the peer that this link has something for it. True if it slept.
  bool ring() const;

 private:
  Memory memory_;
  Descriptor wake_;
  std::uint32_t slot_ = 0;
};

}  // namespace muster::drivers::shm
