// A stranger's stream at the tcp driver: cut anywhere, it gives the same frames.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/base/check.h"
#include "muster/drivers/tcp/frame_reader.h"

namespace {

using namespace muster;

constexpr std::size_t kMaxBody = std::size_t{256} << 10;

struct Counter final : net::Sink {
  std::vector<std::uint64_t> seen;  // Heads and the sizes of parts, in order.

  void on_frame(wire::Frame& frame) override {
    seen.push_back(frame.head.size());
    for (const std::byte byte : frame.head.bytes()) seen.push_back(std::to_integer<int>(byte));
    for (const Buffer& part : frame.parts) seen.push_back(part.size());
  }
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t size) override {
    MUSTER_CHECK(size <= kMaxBody, "a part within the limit");
    return {};
  }
  void on_room() override {}
  void on_closed(Error) override {}
};

bool read(std::span<const std::byte> bytes, std::size_t at_a_time, Counter& counter) {
  BufferPool pool;
  drivers::tcp::FrameReader reader(pool, kMaxBody);
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(at_a_time, bytes.size()));
    if (!reader.take(piece, counter)) return false;
    bytes = bytes.subspan(piece.size());
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  Counter whole;
  Counter pieces;
  const bool is_good = read(bytes, std::max<std::size_t>(size, 1), whole);
  MUSTER_CHECK(read(bytes, 7, pieces) == is_good, "refused or not, however it is cut");
  MUSTER_CHECK(whole.seen == pieces.seen, "the same frames, however they are cut");
  return 0;
}
