#include "muster/msg/copy_large.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>

#include <sched.h>

namespace muster::msg {
namespace {

// Enough that a thread, some 30 us to start and to end, pays.
constexpr std::size_t kLarge = std::size_t{8} << 20;
// What one takes at a time: who is slow, or comes late, takes fewer.
constexpr std::size_t kPiece = std::size_t{1} << 20;

bool has_second_processor() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

}  // namespace

void copy_large(std::byte* to, const std::byte* from, std::size_t size) {
  if (size < kLarge || !has_second_processor()) {
    std::copy_n(from, size, to);  // Which, unlike memcpy, may be given nothing at no address.
    return;
  }
  std::atomic<std::size_t> next{0};
  const auto take_pieces = [&] {
    for (std::size_t at = next.fetch_add(kPiece); at < size; at = next.fetch_add(kPiece)) {
      std::memcpy(to + at, from + at, std::min(kPiece, size - at));
    }
  };
  std::jthread second;  // Ends before what it uses.
  try {
    second = std::jthread(take_pieces);
  } catch (const std::system_error&) {  // No more threads: this one takes all.
  }
  take_pieces();
}

}  // namespace muster::msg
