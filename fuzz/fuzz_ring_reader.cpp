// A ring whose writer is anybody: however it is filled, what is read lies inside, and
// reading it comes to an end.
//
// Input: pieces of the ring, each a place in steps of 64 bytes, 16 bits, and 8 bytes
// that stand there.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "muster/base/check.h"
#include "muster/drivers/shm/ring.h"

using namespace muster::drivers::shm;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  // As large as the ring is, so that a sanitizer sees a byte beyond it.
  static const std::unique_ptr<std::byte, Free> kRing = [] {
    std::unique_ptr<std::byte, Free> made(
        static_cast<std::byte*>(std::aligned_alloc(kRecordStep, kRingCapacity)));
    std::memset(made.get(), 0, kRingCapacity);
    return made;
  }();
  std::byte* const ring = kRing.get();
  constexpr std::size_t kPiece = 10;
  constexpr std::size_t kPlaces = kRingCapacity / kRecordStep;
  const auto place_of = [&](std::size_t piece) {
    std::uint16_t step = 0;
    std::memcpy(&step, data + piece * kPiece, sizeof step);
    return ring + step % kPlaces * kRecordStep;
  };
  for (std::size_t i = 0; i < size / kPiece; ++i) {
    std::memcpy(place_of(i), data + i * kPiece + 2, 8);
  }
  RingHeader header;
  RingReader reader(header, ring);
  // A writer that is no better may lead it round and round.
  for (std::size_t i = 0; i < 2 * kPlaces; ++i) {
    RingReader::Record record;
    if (reader.next(record) != RingReader::Found::record) break;
    MUSTER_CHECK(record.body.data() >= ring &&
                     record.body.data() + record.body.size() <= ring + kRingCapacity - kRecordStep,
                 "a record lies inside, with a header behind it");
    reader.pop();
  }
  for (std::size_t i = 0; i < size / kPiece; ++i) std::memset(place_of(i), 0, 8);
  return 0;
}
