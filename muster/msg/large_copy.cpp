#include "muster/msg/large_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>

namespace muster::msg {
namespace {

// From here on half of the copying takes far longer than to start a thread does.
constexpr std::size_t kForTwo = std::size_t{8} << 20;
// What one thread takes at a time: a helper that does not get to run has little.
constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

void copy_large(std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  if (from.size() < kForTwo || std::thread::hardware_concurrency() < 2) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  std::atomic<std::size_t> taken{0};
  const auto copy_pieces = [&] {
    for (;;) {
      const std::size_t at = taken.fetch_add(kPiece, std::memory_order_relaxed);
      if (at >= from.size()) return;
      std::memcpy(to + at, from.data() + at, std::min(kPiece, from.size() - at));
    }
  };
  std::thread helper;
  try {
    helper = std::thread(copy_pieces);
  } catch (const std::system_error&) {
    // There may be no more threads. One is enough.
  }
  copy_pieces();
  if (helper.joinable()) helper.join();
}

}  // namespace muster::msg
