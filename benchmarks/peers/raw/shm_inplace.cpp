// Reading 64 MiB where another process wrote them.
//
// Handing over costs two cache lines; what is measured is the plain read, from
// the moment the writer lets go.
#include <atomic>

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/large.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/peers/raw/cases.h"
#include "benchmarks/peers/raw/ring.h"

namespace muster::bench::raw {
namespace {

// Bodies are counted from 1 here, so that 0 means none yet.
struct Turns {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  std::int64_t read_at = 0;
  std::atomic<bool> stop{false};
};

void read_until_stopped(std::span<const std::byte> body, Turns& turns) {
  for (std::uint64_t next = 1;; ++next) {
    while (turns.written.load(std::memory_order_acquire) < next) relax();
    if (turns.stop) return;
    read_body(body, next - 1);
    turns.read_at = now_ns();
    turns.read.store(next, std::memory_order_release);
  }
}

}  // namespace

Report shm_inplace(const Options& options) {
  const SharedMemory memory(kLargeBody);
  const Shared<Turns> turns;
  Process reader([&] { read_until_stopped(memory.bytes(), *turns); });
  const Report report = time_bodies(options, memory.bytes(), [&](std::uint64_t number) {
    turns->written.store(number + 1, std::memory_order_release);
    while (turns->read.load(std::memory_order_acquire) <= number) relax();
    return Arrival{number, turns->read_at};
  });
  turns->stop = true;
  turns->written.fetch_add(1);
  reader.join();
  return report;
}

}  // namespace muster::bench::raw
