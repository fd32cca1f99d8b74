// A message of a stranger's at the zmq driver: frames, or a refusal, and no more
// than was sent.

#include <cstdint>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/base/check.h"
#include "muster/drivers/zmq/packet.h"

namespace {

using namespace muster;
using namespace muster::drivers;

struct Counter final : net::Sink {
  std::uint64_t bytes = 0;

  void on_frame(wire::Frame& frame) override {
    bytes += frame.head.size() + frame.body_size();
    for (const Buffer& part : frame.parts) {
      // Whatever it shows can be read.
      if (!part.empty()) MUSTER_CHECK(part.bytes().back() == part.bytes().back(), "readable");
    }
  }
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t size) override {
    MUSTER_CHECK(size <= zmq::kMaxBody, "a part within the limit");
    return size % 2 == 0 ? WritableBuffer::on_heap(size) : WritableBuffer();
  }
  void on_room() override {}
  void on_closed(Error) override {}
};

}  // namespace

// How many parts follow, then the size of each in units of 256 bytes; the rest
// is the packet.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (bytes.empty()) return 0;
  const std::size_t count = std::to_integer<std::size_t>(bytes[0]) % 4;
  if (bytes.size() < 1 + count) return 0;
  std::uint64_t sent = 0;
  std::vector<zmq::Message> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::byte> part(std::to_integer<std::size_t>(bytes[1 + i]) * 256);
    parts.push_back(zmq::Message::copy_of(part));
    sent += part.size();
  }
  bytes = bytes.subspan(1 + count);
  sent += bytes.size();
  if (!zmq::kind_of(bytes)) return 0;
  BufferPool pool;
  zmq::PacketReader reader(pool);
  Counter counter;
  static_cast<void>(reader.read(bytes, parts, counter));
  MUSTER_CHECK(counter.bytes <= sent, "no more than was sent");
  return 0;
}
