#include "muster/drivers/shm/door.h"

#include <array>
#include <bit>
#include <new>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "muster/base/crash_point.h"
#include "muster/drivers/shm/memory.h"

namespace muster::drivers::shm {
namespace {

bool is_eventfd(int descriptor) {
  std::array<char, 64> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  return size > 0 && std::string_view(target.data(), size) == "anon_inode:[eventfd]";
}

}  // namespace

Result<std::unique_ptr<Door>> Door::make() {
  MUSTER_TRY(auto made, Memory::create("muster-door", kDoorSize));
  return std::unique_ptr<Door>(new Door(std::move(made.first), std::move(made.second)));
}

Result<std::uint32_t> Door::take_slot() {
  if (!free_.empty()) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (used_ == DoorPage::kWords * 64) {
    return Error(Code::overloaded, "all " + std::to_string(used_) +
                                       " shared-memory links of this process are in use");
  }
  return used_++;
}

void Door::free_slot(std::uint32_t slot) {
  // A late ring of a link that is gone must not reach the next one; a spurious
  // look costs nothing.
  page().ready[slot / 64].fetch_and(~(std::uint64_t{1} << slot % 64));
  free_.push_back(slot);
}

void Door::answer(const std::function<void(std::uint32_t)>& visit) {
  std::uint64_t words = page().summary.exchange(0, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  while (words != 0) {
    const int word = std::countr_zero(words);
    words &= words - 1;
    std::uint64_t bits = page().ready[word].exchange(0, std::memory_order_seq_cst);
    MUSTER_CRASH_POINT();
    while (bits != 0) {
      const int bit = std::countr_zero(bits);
      bits &= bits - 1;
      visit(static_cast<std::uint32_t>(word * 64 + bit));
    }
  }
}

Result<PeerDoor> PeerDoor::open(int door, int wake, std::uint32_t slot) {
  const Descriptor door_descriptor(door);
  Descriptor wake_descriptor(wake);
  if (slot >= DoorPage::kWords * 64) return Error(Code::invalid, "a door has no such bit");
  if (!is_eventfd(wake)) return Error(Code::invalid, "the peer's wake descriptor is no eventfd");
  PeerDoor peer;
  MUSTER_TRY(peer.memory_, Memory::open(door_descriptor, kDoorSize));
  peer.wake_ = std::move(wake_descriptor);
  peer.slot_ = slot;
  return peer;
}

bool PeerDoor::ring() const {
  auto& page = *std::launder(reinterpret_cast<DoorPage*>(memory_.data()));
  page.ready[slot_ / 64].fetch_or(std::uint64_t{1} << slot_ % 64, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  page.summary.fetch_or(std::uint64_t{1} << slot_ / 64, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  if (!page.bell.must_ring()) return false;
  MUSTER_CRASH_POINT();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  return true;
}

}  // namespace muster::drivers::shm
