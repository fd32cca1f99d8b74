#include "muster/arena/holdings.h"

#include <utility>

namespace muster::arena {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

std::uint32_t index_of(std::uint64_t handle) { return static_cast<std::uint32_t>(handle); }
std::uint32_t uses_of(std::uint64_t handle) { return static_cast<std::uint32_t>(handle >> 32); }
bool is_held(std::uint32_t uses) { return uses % 2 == 1; }

}  // namespace

std::uint64_t Holdings::add(Buffer buffer) {
  std::uint32_t index = first_free_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    first_free_ = entries_[index].next_free;
  }
  Entry& entry = entries_[index];
  ++entry.uses;
  ++count_;
  bytes_ += buffer.size();
  entry.buffer = std::move(buffer);
  return std::uint64_t{entry.uses} << 32 | index;
}

Status Holdings::release(std::uint64_t handle) {
  const std::uint32_t index = index_of(handle);
  if (index >= entries_.size() || entries_[index].uses != uses_of(handle) ||
      !is_held(uses_of(handle))) {
    return Error(Code::invalid, "a peer released a block that it does not hold");
  }
  // Goes out of scope last: its owner may call back.
  const Buffer gone = let_go(index);
  return ok();
}

void Holdings::clear() {
  std::vector<Buffer> gone;
  gone.reserve(count_);
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    if (is_held(entries_[index].uses)) gone.push_back(let_go(index));
  }
}

Buffer Holdings::let_go(std::uint32_t index) {
  Entry& entry = entries_[index];
  ++entry.uses;
  entry.next_free = std::exchange(first_free_, index);
  --count_;
  bytes_ -= entry.buffer.size();
  return std::move(entry.buffer);
}

}  // namespace muster::arena
